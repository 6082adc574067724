import { show, TollgateError } from '../base/errors.js'
import type { LimitSet } from '../plans/limit-set.js'
import type { Limit } from '../plans/limit.js'
import type { Plan } from '../plans/plan.js'
import type { Ask } from '../stores/contract.js'
import type { Subject } from '../plans/subject.js'

/** A request on its way: what the store needs, and what the decision says of it. */
export interface Consumption {
  /** Who pays. */
  readonly subject: Subject
  /** The plan of that subject; its limits, and after them those that are held at the same time. */
  readonly plan: Plan
  readonly cost: number
  readonly key: string
  /** Undefined when nothing limits the request. */
  readonly set: LimitSet | undefined
  readonly also?: readonly Ask[] | undefined
  /** Of several subjects: whose each limit is. */
  readonly owners?: readonly Subject[] | undefined
}

/** A subject held to a plan, by counters under a key. */
export interface Part {
  readonly subject: Subject
  readonly plan: Plan
  readonly key: string
  /** What goes before the names of its limits; undefined for the plan of who pays. */
  readonly label: string | undefined
}

/** Combinations of plans beyond this are many for the sake of their labels, which requests may make up. */
const MOST_PLANS = 1000

/** Makes one request of several parts that must all have room. */
export class Composer {
  /** So that what is written of a plan once, such as a header, is not written for every request. */
  readonly #plans = new Map<string, Plan>()

  /**
   * @param parts the first is who pays, on its plan
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when two of them have one key and different plans
   */
  compose(parts: readonly [Part, ...Part[]], cost: number): Consumption {
    const [{ subject, plan }] = parts
    const limited = distinct(parts).filter((part) => part.plan.set)
    const [first, ...others] = limited.map((part): Ask => ({
      key: part.key,
      set: part.plan.set as LimitSet,
      cost,
    }))
    if (!first) return { subject, plan, cost, key: parts[0].key, set: undefined }
    return {
      subject,
      plan: this.#join(plan, limited),
      cost,
      key: first.key,
      set: first.set,
      also: others.length > 0 ? others : undefined,
      owners: limited.flatMap((part) => part.plan.limits.map(() => part.subject)),
    }
  }

  #join(plan: Plan, parts: readonly Part[]): Plan {
    if (parts.length === 1 && parts[0]?.plan === plan) return plan
    const id = JSON.stringify([
      plan.serial,
      ...parts.flatMap(({ label, plan: { serial } }) => [label, serial]),
    ])
    let joined = this.#plans.get(id)
    if (!joined) {
      joined = { ...plan, limits: nameApart(parts) }
      if (this.#plans.size >= MOST_PLANS) this.#plans.clear()
      this.#plans.set(id, joined)
    }
    return joined
  }
}

function distinct(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part, i) => {
    const same = parts.findIndex(({ key }) => key === part.key)
    if (same === i) return true
    if (parts[same]?.plan === part.plan) return false
    throw new TollgateError(
      'ERR_TOLLGATE_SUBJECT',
      `subjects: got ${show(part.subject.id)} twice with different plans, expected each id once`,
    )
  })
}

/** The limits of all parts under names of their own: `minute`, `guard.minute`, `guard.minute-2`. */
function nameApart(parts: readonly Part[]): Limit[] {
  const taken = new Set<string>()
  return parts.flatMap(({ label, plan: { limits } }) =>
    limits.map((limit) => {
      const wanted = label === undefined ? limit.name : `${label}.${limit.name}`
      let name = wanted
      for (let i = 2; taken.has(name); i += 1) name = `${wanted}-${i}`
      taken.add(name)
      return { ...limit, name }
    }),
  )
}
