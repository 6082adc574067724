import type { BillingDay } from '../algorithms/billing-window/billing-day.js'
import { isBillable, type CompiledLimit, type LimitSet } from './limit/limit-set.js'

export {
  idOfBillingDay,
  wrongInBillingDay,
  type BillingDay,
} from '../algorithms/billing-window/billing-day.js'

const known = new WeakMap<LimitSet, WeakMap<BillingDay, LimitSet>>()

/** The same limits for subjects with a billing day: it moves months and years that have no anchor. The same set each time. */
export function billedSet(set: LimitSet, day: BillingDay): LimitSet {
  return knownOrMade(set, day, () => true)
}

function knownOrMade(set: LimitSet, day: BillingDay, isBilled: (index: number) => boolean): LimitSet {
  if (!set.isBillable) return set
  const ofSet = known.get(set) ?? new WeakMap<BillingDay, LimitSet>()
  known.set(set, ofSet)
  const billed = ofSet.get(day) ?? makeBilled(set, day, isBilled)
  ofSet.set(day, billed)
  return billed
}

/** Days as the limits say themselves, by which limits of a set count in billing windows. */
const ownDays = new WeakMap<LimitSet, Map<string, BillingDay>>()

/**
 * The limits of a set as a store counts them for a subject that had a billing day, and now has none: months and years begin as the limits
 * say, but not before the window ends that the store has.
 *
 * @param isKept whether the store has a state of the limit in billing windows that still matters
 */
export function unbilledSet(set: LimitSet, isKept: (limit: CompiledLimit) => boolean): LimitSet {
  const isBilled = set.limits.map((limit) => isBillable(limit) && isKept(limit))
  if (!isBilled.includes(true)) return set
  const which = isBilled.join()
  const ofSet = ownDays.get(set) ?? new Map<string, BillingDay>()
  ownDays.set(set, ofSet)
  const day = ofSet.get(which) ?? {}
  ofSet.set(which, day)
  return knownOrMade(set, day, (i) => isBilled[i] === true)
}

function makeBilled(set: LimitSet, day: BillingDay, isBilled: (index: number) => boolean): LimitSet {
  const limits = set.limits.map((limit, i) => (isBilled(i) ? billedLimit(limit, day) : limit))
  const ttlMs = Math.max(...limits.map((limit) => limit.ttlMs))
  return { ...set, limits, ttlMs, isBillable: undefined, billing: { day, of: set } }
}

function billedLimit(limit: CompiledLimit, day: BillingDay): CompiledLimit {
  const { bill, stateId, otherId } = limit
  if (!isBillable(limit) || !bill || otherId === undefined) return limit
  const { ttlMs, timeZone, paramsAt } = bill(day)
  const ids = { stateId: otherId, otherId: stateId }
  return { ...limit, ...ids, algorithm: 'billing-window', ttlMs, timeZone, paramsAt, bill: undefined }
}
