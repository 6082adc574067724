import type { Known } from './store-knowledge.js'
import { capacityOf, shareOf } from '../../plans/limit/scaled-limits.js'
import type { CompiledLimit, LimitSet } from '../../plans/limit/limit-set.js'
import type { LimitOutcome, Outcome, SubRequest } from '../../stores/contract.js'
import { NEVER } from '../../algorithms/implementation.js'

/** How many units of each limit's local share the store had counted, rounded up. */
export function usedOf({ set, remaining, atMs }: Known, share: number): number[] {
  return set.limits.map((limit, i) => {
    const used = (capacityOf(limit, atMs) - (remaining[i] ?? 0)) * share
    return Math.min(Math.ceil(used), capacityOf(shareOf(set, share).limits[i] as CompiledLimit, atMs))
  })
}

/**
 * The part as this process alone counts it. All slots of its requests are known here at once, so no slot is given that
 * the holder has not heard of.
 *
 * @param undecided requests of the key that were let in here, and of which other steps are still to be decided
 * @param asked     grows with each request, so it is no smaller than the number of any slot given before
 */
export function withOwnSlots(part: SubRequest, undecided: number, asked: number): SubRequest {
  const { slots } = part
  return slots ? { ...part, slots: { id: slots.id, held: slots.held + undecided, known: asked } } : part
}

/** After this time, in µs, the store may be back: a guess. */
const STORE_MAY_BE_BACK_US = 1_000_000

/**
 * Changes the answer to a cost that fits the plan but not the local share. It would say "never"; now it says when to
 * retry, since the store may be back by then.
 */
export function waitable(outcome: Outcome, parts: readonly SubRequest[]): Outcome {
  if (!outcome.limits.some(({ wait }) => wait === NEVER)) return outcome
  const fits = parts.flatMap(({ set, cost }) => fitsOf(set, cost, outcome.at / 1000))
  const later = (limit: LimitOutcome, i: number): LimitOutcome =>
    limit.wait === NEVER && fits[i] ? { ...limit, wait: STORE_MAY_BE_BACK_US } : limit
  return { ...outcome, limits: outcome.limits.map(later) }
}

function fitsOf({ limits }: LimitSet, cost: number, nowMs: number): boolean[] {
  return limits.map((limit) => capacityOf(limit, nowMs) >= cost)
}
