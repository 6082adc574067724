import type { Decision } from '@tollgate/core'

type LimitState = Decision['limits'][number]

/**
 * The quota where every request has to be counted, whatever the limit: the most that a limit can have on every store, so that
 * nobody reaches it. Memcached counts to that.
 */
export const UNREACHABLE = 1e10

/** One limit of a subject, as a middleware states it. */
export interface Limited {
  /** Units: a whole number from 1. */
  readonly quota: number
  readonly windowMs: number
}

/** What a request found, in the terms that the other packages share. */
export interface Hit {
  readonly allowed: boolean
  /** The requests in the window with this one; the quota and one more if it is refused. A whole number from 1. */
  readonly used: number
  /** ms until another request fits; 0 if it is allowed. */
  readonly retryAfterMs: number
  /** ms until there is room for one more than now. */
  readonly resetMs: number
}

/** Reads a decision on one subject with one limit, which is an answer. */
export function hitOf(decision: Decision, { quota, windowMs }: Limited): Hit {
  const { allowed, retryAfterMs } = decision
  if (!allowed) {
    const waitMs = retryAfterMs ?? windowMs
    return { allowed, used: quota + 1, retryAfterMs: waitMs, resetMs: waitMs }
  }
  const state = stateOf(decision)
  return { allowed, used: usedOf(state, quota), retryAfterMs: 0, resetMs: state?.resetMs ?? windowMs }
}

/**
 * What is known of the limit: the store's numbers, or those of this process's share. Nothing is while the policy lets
 * all pass.
 */
export function stateOf({ limits, localLimits }: Decision): LimitState | undefined {
  return limits[0] ?? localLimits?.[0]
}

/**
 * The hits to tell, a whole number from 1. Of a share, `remaining` is what still passes here. The middleware subtracts from the
 * whole limit: so it must be told the rest as used.
 */
export function usedOf(state: LimitState | undefined, quota: number): number {
  if (!state) return 1
  const used = quota === UNREACHABLE ? usedOfAll(state) : quota - state.remaining
  return Math.min(Math.max(used, 1), quota)
}

/**
 * Where the limit is not known, nobody can take the share of it: so each request of a share counts for one of each process.
 * The first one counts once, since of every limit at least one passes.
 */
function usedOfAll({ used, quota }: LimitState): number {
  return used <= 1 ? used : Math.round(used * (UNREACHABLE / quota))
}
