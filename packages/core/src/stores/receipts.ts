import { EARLIEST } from '../algorithms/implementation.js'
import type { Outcome, RefundRequest, StoreRequest } from './contract.js'

/**
 * Makes the request that gives units of an outcome back to the limits they were taken from. Requests in flight are left out:
 * they end by themselves.
 *
 * @param units quota units: one number for every limit, or one for each limit in the order of the outcome
 * @param id    with an id, the units go back only once even if the request is sent repeatedly
 */
export function refundOf(
  { shard, parts }: Pick<StoreRequest, 'shard' | 'parts'>,
  { at, limits }: Outcome,
  units: number | readonly number[],
  id?: string,
): RefundRequest {
  let next = 0
  return {
    shard,
    id,
    parts: parts.map(({ key, set }) => ({
      key,
      set,
      receipts: set.limits.map((_, i) => {
        const { remaining = 0, reset = 0, leased = 0 } = limits[next] ?? {}
        const own = i === set.inFlightIndex ? 0 : typeof units === 'number' ? units : (units[next] ?? 0)
        next += 1
        // Units on lease are not in the state that the algorithm gives back to.
        return { units: own, at, remaining: remaining + leased, reset }
      }),
    })),
  }
}

/**
 * Makes the request that gives units back of which only the key is known: of every limit those that have counted longest.
 * Requests in flight are left out.
 *
 * @param units quota units, the same number of every limit
 * @param id    as in refundOf
 */
export function refundByKey(
  { shard, parts }: Pick<StoreRequest, 'shard' | 'parts'>,
  units: number,
  id?: string,
): RefundRequest {
  return {
    shard,
    id,
    parts: parts.map(({ key, set }) => ({
      key,
      set,
      receipts: set.limits.map((_, i) => ({
        units: i === set.inFlightIndex ? 0 : units,
        at: EARLIEST,
        remaining: 0,
        reset: 0,
      })),
    })),
  }
}
