import { MOST_UNITS } from '../../base/options.js'
import { toLimitSet, inFlightLast, type SetTerms } from '../../plans/limit/limit-set.js'
import { isDenying } from '../../plans/limit/overage-limit.js'
import { withUnits, type Limit } from '../../plans/limit/limit.js'
import { newSerial, type Plan } from '../../plans/plan.js'

/** What an override and a scale make of a plan. */
export interface Multiplied {
  /** The plan whose limits apply; undefined: its own. */
  readonly instead: Plan | undefined
  readonly factor: number
  readonly concurrentFactor: number
}

/** So many plans are remembered for each plan. With more of them, all are made anew. */
const MOST = 1000

/** Makes the plans that apply by rules. Each is made once, so that denials and headers are remembered for it. */
export class RuledPlans {
  #made = new WeakMap<Plan, Map<string, Plan>>()

  planFor(base: Plan, terms: Multiplied): Plan {
    const { instead = base, factor, concurrentFactor } = terms
    if (instead === base && factor === 1 && concurrentFactor === 1) return base
    const made = this.#made.get(base) ?? new Map<string, Plan>()
    this.#made.set(base, made)
    const id = `${instead.serial} ${factor} ${concurrentFactor}`
    const known = made.get(id)
    if (known) return known
    if (made.size >= MOST) made.clear()
    const plan = makePlan(base, instead, terms)
    made.set(id, plan)
    return plan
  }
}

function makePlan(base: Plan, instead: Plan, { factor, concurrentFactor }: Multiplied): Plan {
  const { name, onStoreFailure } = base
  const limits = inFlightLast(
    instead.limits.map((limit) => multiply(limit, limit.windowMs === 0 ? concurrentFactor : factor)),
  )
  const set = limits.length === 0 ? undefined : toLimitSet(limits, termsFor(base, limits))
  const { isBlocked } = instead
  const plan = { name, serial: newSerial(), limits, set, isBlocked, isOverridden: true as const }
  return onStoreFailure === undefined ? plan : { ...plan, onStoreFailure }
}

/** A place must not stay usable for longer than this where a limit may have become faster: see the laws. */
const MOST_SLACK_US = 50_000

/** How the base plan waits, leases and blocks, as far as these limits can. Those that deny nothing do none of it. */
function termsFor({ set }: Plan, limits: readonly Limit[]): SetTerms {
  if (!limits.some(isDenying)) return {}
  const { lease, wait, blockAfter } = set ?? {}
  const inTime = limits.filter(({ windowMs }) => windowMs > 0)
  const deniesInTime = inTime.some(isDenying)
  const shortestUs = Math.min(...inTime.map(({ windowMs }) => windowMs * 1000))
  return {
    lease:
      lease && inTime.length === limits.length && !limits.some(({ overage }) => overage)
        ? { ...lease, lengthUs: Math.min(lease.lengthUs, shortestUs) }
        : undefined,
    wait: wait && deniesInTime ? { ...wait, slackUs: Math.min(wait.slackUs, MOST_SLACK_US) } : undefined,
    blockAfter: deniesInTime ? blockAfter : undefined,
  }
}

function multiply(limit: Limit, factor: number): Limit {
  if (factor === 1) return limit
  return withUnits(limit, (units) => Math.min(Math.max(Math.round(units * factor), 1), MOST_UNITS))
}
