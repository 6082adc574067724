import { EARLIEST, type Receipt } from '../algorithms/implementation.js'
import type { Outcome, RefundRequest, StoreRequest, SubRequest } from './contract.js'
import { limitsByPart } from './outcome-check.js'

/**
 * Makes the request that gives an outcome's units back to the limits they were taken from. Slots of requests in flight are left
 * out, since they end by themselves.
 *
 * @param units quota units: one number for all limits, or one for each limit in the outcome's order
 * @param id    with an id, the units go back only once, even if the request is sent repeatedly
 */
export function refundOf(
  { shard, parts }: Pick<StoreRequest, 'shard' | 'parts'>,
  { at, limits }: Outcome,
  units: number | readonly number[],
  id?: string,
): RefundRequest {
  const receipts = limits.map(({ remaining, reset, leased = 0, wouldWait }, i): Receipt => {
    const taken = typeof units === 'number' ? units : (units[i] ?? 0)
    const own = wouldWait === undefined ? taken : 0
    // Units on lease are not in the state to which the algorithm gives units back.
    return { units: own, at, remaining: remaining + leased, reset }
  })
  return refundWith({ shard, parts: limitsByPart(parts, receipts) }, id)
}

/**
 * Makes the request that gives units back if only their key is known: from each limit, the units that have counted longest. Slots
 * of requests in flight are left out.
 *
 * @param units quota units, the same number for every limit
 * @param id    as in refundOf
 */
export function refundByKey(
  { shard, parts }: Pick<StoreRequest, 'shard' | 'parts'>,
  units: number,
  id?: string,
): RefundRequest {
  const receipt = { units, at: EARLIEST, remaining: 0, reset: 0 }
  return refundWith({ shard, parts: parts.map((part) => [part, part.set.limits.map(() => receipt)]) }, id)
}

function refundWith(
  {
    shard,
    parts,
  }: { readonly shard: number; readonly parts: readonly (readonly [SubRequest, readonly Receipt[]])[] },
  id: string | undefined,
): RefundRequest {
  return {
    shard,
    id,
    parts: parts.map(([{ key, set }, receipts]) => ({
      key,
      set,
      receipts: receipts.map((one, i) => (i === set.inFlightIndex ? { ...one, units: 0 } : one)),
    })),
  }
}
