import { implementations } from '../../algorithms/registry.js'
import type { Usage } from '../../algorithms/implementation.js'
import { type LimitSet, capacityOf, scaleSet } from '../../plans/limit/limit-set.js'
import type { Outcome } from '../../stores/contract.js'
import { usageAt, type Used } from './usage-ledger.js'

/** How many units each limit of a local share holds at a time. */
export interface Levels {
  /** The limits of the whole plan. */
  readonly set: LimitSet
  readonly share: number
  readonly units: readonly number[]
  readonly atMs: number
}

/** For each limit, the whole units to charge the store for; undefined if it is charged by the time of use. */
type OwedLevels = readonly (number | undefined)[]

/** Units admitted for a key without the store, which it must be charged for. */
export interface Owed {
  readonly key: string
  readonly shard: number
  readonly used: Used
  readonly levels: OwedLevels
  /** The time of `levels`, in µs of the monotonic clock, and the share of the process then. */
  readonly atUs: number
  readonly share: number
}

/** Less than any unit: doubles do not hold a level exactly. */
const ROUNDING = 1e-6

/**
 * The levels after an outcome of the share, with the part of a unit that has not drained yet.
 *
 * @param outcome of the local limits, as of `atMs`
 */
export function levelsIn({ limits }: Outcome, set: LimitSet, share: number, atMs: number): Levels {
  const units = scaleSet(set, share).limits.map((limit, i) => {
    const { remaining = 0, reset = 0 } = limits[i] ?? {}
    const used = capacityOf(limit, atMs) - remaining
    const { leftAfter } = implementations[limit.algorithm]
    return used > 0 && leftAfter ? used - leftAfter(1, reset, limit.paramsAt(atMs)) : used
  })
  return { set, share, units, atMs }
}

/**
 * What the store must be charged for limits whose units drain: how far the level is above the earlier one, which has
 * drained since. The store counts the earlier level already. Each process holds a share, and all shares together drain as
 * fast as the limit. So the charges of all processes add up, in any order.
 *
 * @param now    the levels of this process's share
 * @param before what the store had counted at the beginning, or after the last charge; undefined: nothing
 */
export function levelsOwed(now: Levels, before: Levels | undefined): OwedLevels {
  const { limits } = scaleSet(now.set, now.share)
  const elapsedUs = Math.max(now.atMs - (before?.atMs ?? now.atMs), 0) * 1000
  // After a change of plan, what was counted is charged again rather than too little.
  const counted = before?.set === now.set ? before : undefined
  return limits.map(({ algorithm, paramsAt }, i) => {
    const { leftAfter } = implementations[algorithm]
    if (!leftAfter) return undefined
    const units = counted ? ((counted.units[i] ?? 0) * now.share) / counted.share : 0
    const left = leftAfter(units, elapsedUs, paramsAt(now.atMs))
    return Math.max(Math.ceil((now.units[i] ?? 0) - left - ROUNDING), 0)
  })
}

/**
 * What to charge, in the form that a store's `force` takes. Meanwhile a level drains only by this process's share: the rest
 * of the rate drains what other processes are charged for.
 */
export function usageOf({ used, levels, atUs, share }: Owed, nowUs: number): Usage[][] {
  const byTime = usageAt(used, nowUs)
  const ageUs = Math.max(Math.round((nowUs - atUs) * share), 0)
  return byTime.map((usage, i) => {
    const units = levels[i]
    if (units === undefined) return usage
    return units > 0 ? [{ units, ageUs }] : []
  })
}
