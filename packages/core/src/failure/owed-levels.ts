import { implementations } from '../algorithms/registry.js'
import type { Usage } from '../algorithms/implementation.js'
import type { LimitSet } from '../plans/limit-set.js'
import { capacityOf, shareOf } from '../plans/scaled-limits.js'
import type { Outcome } from '../stores/contract.js'
import { usageAt, type Used } from './usage-ledger.js'

/** How many units each limit of a local share held at a time, all of which the store counts or was charged for. */
export interface CountedLevels {
  readonly set: LimitSet
  readonly units: readonly number[]
  readonly atMs: number
}

/** For each limit what the store must be charged, in whole units; undefined where it is charged by the time of use. */
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

/** How many units the limits of a share hold, with the part of one that has not drained yet. */
export function heldIn(share: LimitSet, { limits }: Outcome, atMs: number): number[] {
  return share.limits.map((limit, i) => {
    const { remaining = 0, reset = 0 } = limits[i] ?? {}
    const held = capacityOf(limit, atMs) - remaining
    const { leftAfter } = implementations[limit.algorithm]
    return held > 0 && leftAfter ? held - leftAfter(1, reset, limit.paramsAt(atMs)) : held
  })
}

/**
 * What a limit whose units drain holds beyond what the store knows of. The shares of all processes together drain as fast
 * as the limit, so what each holds adds up to the level that the limit has. The times at which units were used would
 * not do: what the store had counted before drained meanwhile, and the same time would let these drain once more.
 *
 * @param held   units that each limit of the share holds now
 * @param before what it held earlier; undefined if nothing
 */
export function levelsOwed(
  set: LimitSet,
  share: number,
  held: CountedLevels,
  before: CountedLevels | undefined,
): OwedLevels {
  const { limits } = shareOf(set, share)
  return limits.map(({ algorithm, paramsAt }, i) => {
    const { leftAfter } = implementations[algorithm]
    if (!leftAfter) return undefined
    // After a change of plan they are charged again rather than too few.
    const counted = before?.set === set ? (before.units[i] ?? 0) : 0
    const elapsedUs = (held.atMs - (before?.atMs ?? held.atMs)) * 1000
    const left = leftAfter(counted, Math.max(elapsedUs, 0), paramsAt(held.atMs))
    return Math.max(Math.ceil((held.units[i] ?? 0) - left - ROUNDING), 0)
  })
}

/**
 * What to charge, in the form that a store's `force` takes. Of a level only this process's share drains meanwhile: the rest
 * drains what others are charged for.
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
