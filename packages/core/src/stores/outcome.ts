import type { LimitOutcome, Outcome } from './store.js'

const NEVER = -1

/** Whether what a store gave is an outcome of so many limits. One of the user's own can give anything. */
export function isOutcome(given: unknown, count: number): given is Outcome {
  const { at, limits } = (given ?? {}) as Partial<Outcome>
  if (!Number.isFinite(at) || !Array.isArray(limits) || limits.length !== count) return false
  for (const limit of limits) if (!isLimitOutcome(limit)) return false
  return true
}

function isLimitOutcome(given: Partial<LimitOutcome> | null | undefined): boolean {
  const { wait, remaining, reset } = given ?? {}
  return (isAtLeast(wait, 0) || wait === NEVER) && isAtLeast(remaining, 0) && Number.isFinite(reset)
}

function isAtLeast(given: unknown, least: number): boolean {
  return Number.isFinite(given) && (given as number) >= least
}
