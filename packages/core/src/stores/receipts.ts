import type { Outcome, RefundRequest, StoreRequest } from './contract.js'

/**
 * What gives units of an outcome back to the limits that it took them from.
 *
 * @param units of every limit, or of each of them in the order of the outcome
 * @param id    with which they go back once, however often they are sent
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
      receipts: set.limits.map(() => {
        const { remaining = 0, reset = 0 } = limits[next] ?? {}
        const own = typeof units === 'number' ? units : (units[next] ?? 0)
        next += 1
        return { units: own, at, remaining, reset }
      }),
    })),
  }
}
