import { GenerationalCache } from '../base/caches.js'
import type { Limit } from '../plans/limit/limit.js'
import type { Plan } from '../plans/plan.js'

/** One of several plans that apply to a request. */
interface Labelled {
  readonly plan: Plan
  /** The first part of its limits' names; undefined for the plan of the subject that pays. */
  readonly label: string | undefined
}

/** The limits of several plans under unique names: all together, and those of each plan. */
interface NamedLimits {
  readonly all: readonly Limit[]
  readonly ofEach: readonly (readonly Limit[])[]
}

/** Labels and limits may come from requests, and be endless. */
const MOST_COMBINATIONS = 2000

/**
 * Names the limits of plans that apply together. Caches the result, so that headers are written once, not per request.
 */
export class LimitNames {
  readonly #known = new GenerationalCache<NamedLimits>(MOST_COMBINATIONS)

  of(plans: readonly Labelled[]): NamedLimits {
    const id = JSON.stringify(plans.flatMap(({ label, plan }) => [label, plan.serial]))
    const known = this.#known.refresh(id)
    if (known) return known
    const ofEach = nameApart(plans)
    const named = { ofEach, all: ofEach.flat() }
    this.#known.set(id, named)
    return named
  }
}

/** Makes names unique: `minute`, `guard.minute`, `guard.minute-2`. */
function nameApart(plans: readonly Labelled[]): Limit[][] {
  const taken = new Set<string>()
  return plans.map(({ label, plan: { limits } }) =>
    limits.map((limit) => {
      const wanted = label === undefined ? limit.name : `${label}.${limit.name}`
      let name = wanted
      for (let i = 2; taken.has(name); i += 1) name = `${wanted}-${i}`
      taken.add(name)
      return { ...limit, name }
    }),
  )
}
