// What the assertions say, in words, when they fail.
import { AssertionError } from 'node:assert'
import type { Decision } from '../../src/index.js'
import {
  createTestLimiter,
  expectAllowed,
  expectDenied,
  expectRemaining,
  failingStore,
  testClock,
} from '../../src/testing.js'

const limiter = createTestLimiter({
  plans: { free: ['2/min', '100/day'], staff: 'unlimited', gone: 'blocked' },
  defaultPlan: 'free',
})
const [first, second, denied] = [1, 2, 3].map(() => limiter.consume('acme') as Decision) as [
  Decision,
  Decision,
  Decision,
]

test('what is so passes', async () => {
  expectAllowed(first)
  expectAllowed(first, { source: 'store' })
  expectDenied(denied)
  expectDenied(denied, { by: 'minute', retryAfterMs: 60_000, reason: 'quota-exceeded', source: 'store' })
  expectDenied(await limiter.consume({ id: 'bob', plan: 'gone' }), { reason: 'blocked', retryAfterMs: null })
  expectRemaining(first, 'minute', 1)
  expectRemaining(second, 'day', 98)
})

const messageOf = (run: () => void): string => {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(AssertionError)
    return (error as Error).message
  }
  throw new Error('it passed')
}

const LIMITS =
  '\n  minute: quota 2, used 1, remaining 1, one more in 60000 ms\n  day: quota 100, used 1, remaining 99, one more in 86400000 ms'
const FIRST = `'acme' (plan 'free', cost 1) was allowed by 'store'${LIMITS}`
const DENIED = `'acme' (plan 'free', cost 1) was denied by 'store': quota-exceeded (minute), fits in 60000 ms
  minute: quota 2, used 2, remaining 0, one more in 60000 ms
  day: quota 100, used 2, remaining 98, one more in 86400000 ms`

test.each<[what: string, run: () => void, message: string]>([
  ['a denial', () => expectAllowed(denied), `expected the request to be allowed, but got:\n\n${DENIED}`],
  ['an allowance', () => expectDenied(first), `expected the request to be denied, but got:\n\n${FIRST}`],
  [
    'another source',
    () => expectAllowed(first, { source: 'local' }),
    `expected the request to be allowed with { source: 'local' }, but got:\n\n${FIRST}`,
  ],
  [
    'another limit',
    () => expectDenied(denied, { by: 'day' }),
    `expected the request to be denied with { by: 'day' }, but got:\n\n${DENIED}`,
  ],
  [
    'another wait and reason',
    () => expectDenied(denied, { retryAfterMs: null, reason: 'blocked' }),
    `expected the request to be denied with { retryAfterMs: null, reason: 'blocked' }, but got:\n\n${DENIED}`,
  ],
  [
    'other units',
    () => expectRemaining(first, 'minute', 2),
    `expected 2 remaining in the limit 'minute', but got:\n\n${FIRST}`,
  ],
  [
    'a limit that is not listed',
    () => expectRemaining(first, 'hour', 2),
    `expected 2 remaining in the limit 'hour', but the decision does not list it:\n\n${FIRST}`,
  ],
  [
    'no await',
    () => expectAllowed(Promise.resolve(first) as never),
    'got a promise, expected a decision; write await: expectAllowed(await limiter.consume(...))',
  ],
  [
    'true',
    () => expectAllowed(true as never),
    'got true, expected a decision: what limiter.consume returned',
  ],
  [
    'an object',
    () => expectDenied({ allowed: false } as never),
    'got another object, expected a decision: what limiter.consume returned',
  ],
])('%s', (_, run, message) => {
  expect(messageOf(run)).toBe(message)
})

test('a decision without limits, and one of this process alone', async () => {
  const unlimited = (await limiter.consume({ id: 'ann', plan: 'staff' })) as Decision
  expect(messageOf(() => expectDenied(unlimited))).toMatch(
    /was allowed by 'unlimited'\n  the decision lists no limits$/,
  )
  const blocked = (await limiter.consume({ id: 'bob', plan: 'gone' })) as Decision
  expect(messageOf(() => expectAllowed(blocked))).toContain(
    "was denied by 'blocked': blocked, waiting does not help",
  )
  const store = failingStore(testClock().memoryStore())
  const alone = createTestLimiter({ limit: '4/min', store, local: { instances: 2 }, warnings: false })
  store.down()
  const local = await alone.consume('acme')
  expect(messageOf(() => expectDenied(local))).toMatch(
    /by 'local'\n  minute: quota 2, used 1, remaining 1, one more in \d+ ms \(the share of this process\)$/,
  )
  await alone.close()
})

test('the error has the compared values, and its stack begins in the test', () => {
  let thrown: unknown
  try {
    expectDenied(denied, { by: 'day', retryAfterMs: 5 })
  } catch (error) {
    thrown = error
  }
  expect(thrown).toMatchObject({
    ...{ name: 'AssertionError', code: 'ERR_ASSERTION' },
    actual: { allowed: false, by: 'minute', retryAfterMs: 60_000 },
    expected: { allowed: false, by: 'day', retryAfterMs: 5 },
  })
  expect(/\n    at (.*)/.exec((thrown as Error).stack ?? '')?.[1]).toContain(__filename)
})

test('an expectation that does not exist is refused', () => {
  expect(() => expectDenied(denied, { limit: 'minute' } as never)).toThrow(
    'expected.limit: there is no such option',
  )
  expect(() => expectAllowed(first, { by: 'minute' } as never)).toThrow(
    'expected.by: there is no such option',
  )
})
