import {
  findAllowed,
  findDenied,
  findRemaining,
  messageOf,
  type ExpectedAllowance,
  type ExpectedDenial,
  type Finding,
} from './assertions.js'

/** What a matcher answers, in the shape that the `expect.extend` of Jest and Vitest needs. */
export interface MatcherAnswer {
  readonly pass: boolean
  readonly message: () => string
  readonly actual: unknown
  readonly expected: unknown
}

/**
 * The types of the matchers, to add to those of a runner. docs/guides/testing-your-app.md has the declaration for each.
 *
 * @example
 * declare module 'vitest' { interface Matchers<T> extends TollgateMatchers<T> {} }
 */
export interface TollgateMatchers<Result = void> {
  /** As `expectAllowed`. */
  toBeAllowed(expected?: ExpectedAllowance): Result
  /** As `expectDenied`. */
  toBeDenied(expected?: ExpectedDenial): Result
  /** As `expectRemaining`. */
  toHaveRemaining(limit: string, units: number): Result
}

/**
 * The assertions as matchers of Jest and Vitest, which both take them as they are.
 *
 * @example
 * expect.extend(tollgateMatchers)
 * expect(await limiter.consume('acme')).toBeDenied({ by: 'minute' })
 */
export const tollgateMatchers = {
  toBeAllowed(decision: unknown, expected: ExpectedAllowance = {}): MatcherAnswer {
    return answerOf(findAllowed(decision, expected, tollgateMatchers.toBeAllowed))
  },
  toBeDenied(decision: unknown, expected: ExpectedDenial = {}): MatcherAnswer {
    return answerOf(findDenied(decision, expected, tollgateMatchers.toBeDenied))
  },
  toHaveRemaining(decision: unknown, limit: string, units: number): MatcherAnswer {
    return answerOf(findRemaining(decision, { limit, remaining: units }, tollgateMatchers.toHaveRemaining))
  },
}

function answerOf(finding: Finding): MatcherAnswer {
  const { pass, actual, expected } = finding
  // A runner asks for the message of a matcher that passes only if it was negated by `.not`.
  return { pass, message: () => messageOf(finding, pass), actual, expected }
}
