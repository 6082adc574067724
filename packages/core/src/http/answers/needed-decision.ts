import { ConfigError } from '../../base/errors.js'
import { isPromise, quiet } from '../../base/promises.js'
import { attempt } from '../../base/show.js'
import type { Decision, LimitState } from '../../limiter/decision/decision.js'

/**
 * Refuses anything but a decision. A copy, or one made by hand, is fine.
 *
 * @param call what it was passed to
 * @throws {ConfigError} with the path `decision`
 */
export function needDecision(given: unknown, call: string): asserts given is Decision {
  if (attempt(() => isDecision(given), false)) return
  const isPending = attempt(() => isPromise(given), false)
  quiet(given)
  const remedy = `${isPending ? 'write await before it, ' : ''}as in ${call}(await limiter.consume(id))`
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
