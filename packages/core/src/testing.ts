/**
 * For the tests of applications: a clock to set, a limiter that records its decisions, assertions and matchers, and a store that fails
 * on command. It needs no test runner, and works in each. docs/guides/testing-your-app.md shows how to use it.
 */
export { testClock, type TestClock } from './testing/clock.js'
export {
  createTestLimiter,
  type RecordedDecisions,
  type TestLimiter,
  type TestLimiterOptions,
} from './testing/test-limiter.js'
export {
  expectAllowed,
  expectDenied,
  expectRemaining,
  type ExpectedAllowance,
  type ExpectedDenial,
} from './testing/assertions.js'
export { tollgateMatchers, type MatcherAnswer, type TollgateMatchers } from './testing/matchers.js'
export { failingStore, type FailingStore, type StoreFaults } from './testing/failing-store.js'
