import { ConfigError } from '../base/errors.js'
import { attempt, isA } from '../base/show.js'
import { isPromise } from '../base/promises.js'
import type { Decision, LimitState } from '../limiter/decision/decision.js'

/**
 * Refuses what is no decision; one that was copied or made by hand is.
 *
 * @throws {ConfigError} with the path `decision`
 */
export function needDecision(given: unknown): asserts given is Decision {
  if (attempt(() => isDecision(given), false)) return
  const isPending = attempt(() => isPromise(given), false)
  // A rejection of the promise must not end the process.
  if (isA(given, Promise)) given.catch(() => {})
  const remedy = isPending
    ? 'write await before it, as in answerOf(await limiter.consume(id))'
    : 'as in answerOf(await limiter.consume(id))'
  throw ConfigError.wrong('decision', given, `the decision that consume returned: ${remedy}`)
}

function isDecision(given: unknown): boolean {
  const { allowed, cost, limits, violated, retryAfterMs } = given as Partial<Decision>
  return (
    typeof allowed === 'boolean' &&
    isAmount(cost) &&
    (retryAfterMs === null || isAmount(retryAfterMs)) &&
    Array.isArray(violated) &&
    Array.isArray(limits) &&
    limits.every(isLimitState)
  )
}

function isLimitState(given: LimitState): boolean {
  const { name, quota, windowMs, used, remaining, resetMs } = given
  return typeof name === 'string' && [quota, windowMs, used, remaining, resetMs].every(isAmount)
}

function isAmount(given: unknown): boolean {
  return typeof given === 'number' && given >= 0 && given < Infinity
}
