import type { Grant, LimitOutcome, SubRequest } from '../stores/contract.js'

/**
 * How many more units each limit of a part would need for its cost; with the grant `upTo`, for one more unit. Infinity where units
 * would not help: too many requests are in flight, or too many reservations are open.
 *
 * @param limits what the store said of them
 */
export function lackingUnits(
  { set, cost }: SubRequest,
  grant: Grant,
  limits: readonly LimitOutcome[],
): number {
  const needed = grant === 'upTo' ? 1 : cost
  let lacking = 0
  for (const [i, { wait, remaining }] of limits.entries()) {
    const denies = grant === 'all' && wait !== 0
    if (denies && (i === set.slots || remaining >= needed)) return Infinity
    if (i !== set.slots) lacking = Math.max(lacking, needed - remaining)
  }
  return lacking
}
