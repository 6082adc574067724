import type { Outcome, RefundRequest, StoreRequest } from '../stores/contract.js'

/**
 * What gives units of an outcome back to every limit that it took them from.
 *
 * @param units of each limit
 */
export function refundOf(
  { shard, parts }: StoreRequest,
  { at, limits }: Outcome,
  units: number,
): RefundRequest {
  let next = 0
  return {
    shard,
    parts: parts.map(({ key, set }) => {
      const told = limits.slice(next, (next += set.limits.length))
      return { key, set, receipts: told.map(({ remaining, reset }) => ({ units, at, remaining, reset })) }
    }),
  }
}
