import type { Decision, LimitState } from '../../limiter/decision/decision.js'

/**
 * The limit that headers with room for one tell of. For a denial, the violated limit with the longest wait; otherwise
 * the limit with the least remaining. One of requests in flight only if it alone denied, or there is no other: how many
 * are in flight changes too fast to plan by.
 */
export function closestLimit({ limits, violated }: Decision): LimitState {
  if (limits.length === 1) return limits[0] as LimitState
  const denying = limits.filter(({ name }) => violated.includes(name))
  // None of a decision that was made by hand, and names another limit.
  if (denying.length > 0) {
    return inTime(denying).reduce((worst, limit) => (limit.resetMs > worst.resetMs ? limit : worst))
  }
  return inTime(limits).reduce((least, limit) => (limit.remaining < least.remaining ? limit : least))
}

function inTime(limits: readonly LimitState[]): readonly LimitState[] {
  const found = limits.filter(({ windowMs }) => windowMs > 0)
  return found.length > 0 ? found : limits
}

/** In how many ms such headers say that the limit has more: of requests in flight, when a denied client should retry. */
export function resetOf(
  { name, windowMs, resetMs }: LimitState,
  { violated, retryAfterMs }: Decision,
): number {
  return windowMs === 0 && violated.includes(name) ? (retryAfterMs ?? 0) : resetMs
}
