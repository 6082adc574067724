import type { LimitOutcome, Outcome } from './contract.js'

const NEVER = -1

/** Whether what a store gave is an outcome of so many limits. One of the user's own can give anything. */
export function isOutcome(given: unknown, count: number): given is Outcome {
  try {
    const { at, limits } = (given ?? {}) as Partial<Outcome>
    if (!Number.isFinite(at) || !Array.isArray(limits) || limits.length !== count) return false
    for (const limit of limits) if (!isLimitOutcome(limit)) return false
    return true
  } catch {
    // A getter threw.
    return false
  }
}

function isLimitOutcome(given: Partial<LimitOutcome> | null | undefined): boolean {
  const { wait, remaining, reset } = given ?? {}
  return isTime(wait) && (wait >= 0 || wait === NEVER) && isTime(reset) && isCount(remaining)
}

/** What is beyond whole numbers could not be written into a header. */
function isTime(given: unknown): given is number {
  return typeof given === 'number' && Math.abs(given) <= Number.MAX_SAFE_INTEGER
}

function isCount(given: unknown): boolean {
  return Number.isSafeInteger(given) && (given as number) >= 0
}
