import type { Decision } from '@tollgate/core'

type LimitState = Decision['limits'][number]

/** The quota if every request must count, whatever the limit: the largest quota on every store, so no client reaches it. */
export const UNREACHABLE = 1e10

/** A subject's limit, as the middleware states it. */
export interface Limited {
  /** Units: a whole number from 1. */
  readonly quota: number
  readonly windowMs: number
}

/** What a request found, in terms that all the middleware shares. */
export interface Hit {
  readonly allowed: boolean
  /** The requests in the window, with this one. One more than the quota if it is refused. A whole number from 1. */
  readonly used: number
  /** ms until another request fits; 0 if it is allowed. */
  readonly retryAfterMs: number
  /** ms until there is room for one more request than now. */
  readonly resetMs: number
}

/** Reads a decision on one subject with one limit. Not for one with the reason `store-unavailable`. */
export function hitOf(decision: Decision, { quota, windowMs }: Limited): Hit {
  const { allowed, retryAfterMs } = decision
  if (!allowed) {
    const waitMs = retryAfterMs ?? windowMs
    return { allowed, used: quota + 1, retryAfterMs: waitMs, resetMs: waitMs }
  }
  const state = stateOf(decision)
  return { allowed, used: usedOf(state, quota), retryAfterMs: 0, resetMs: state?.resetMs ?? windowMs }
}

/** What is known of the limit: the store's numbers, or those of this process's share. Undefined while the policy lets all pass. */
export function stateOf({ limits, localLimits }: Decision): LimitState | undefined {
  return limits[0] ?? localLimits?.[0]
}

/**
 * The hits to report, a whole number from 1. The middleware subtracts them from the whole limit. So in a process's share, the rest
 * of the limit counts as used: `remaining` is what still passes here.
 */
export function usedOf(state: LimitState | undefined, quota: number): number {
  if (!state) return 1
  const used = quota === UNREACHABLE ? usedOfAll(state) : quota - state.remaining
  return Math.min(Math.max(used, 1), quota)
}

/**
 * If the limit is unknown, so is this process's share of it. So each request counts as if every process had one. The first counts
 * once, since every limit lets at least one pass.
 */
function usedOfAll({ used, quota }: LimitState): number {
  return used <= 1 ? used : Math.round(used * (UNREACHABLE / quota))
}
