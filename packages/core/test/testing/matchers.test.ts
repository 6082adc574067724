// The matchers in Jest itself. packages/testing/test/test-kit.test.ts has other runners.
import type { Decision } from '../../src/index.js'
import { createTestLimiter, tollgateMatchers, type TollgateMatchers } from '../../src/testing.js'

declare global {
  namespace jest {
    // oxlint-disable-next-line no-unused-vars -- TypeScript wants the parameters that Jest declares.
    interface Matchers<R, T = {}> extends TollgateMatchers<R> {}
  }
}
expect.extend(tollgateMatchers)

const limiter = createTestLimiter({ limit: '1/min' })
const allowed = limiter.consume('acme') as Decision
const denied = limiter.consume('acme') as Decision

test('what is so passes, and its opposite with not', () => {
  expect(allowed).toBeAllowed()
  expect(allowed).toBeAllowed({ source: 'store' })
  expect(denied).toBeDenied()
  expect(denied).toBeDenied({ by: 'minute', retryAfterMs: 60_000 })
  expect(allowed).toHaveRemaining('minute', 0)
  expect(denied).not.toBeAllowed()
  expect(allowed).not.toBeDenied()
  expect(denied).not.toBeDenied({ by: 'day' })
  expect(allowed).not.toHaveRemaining('minute', 1)
})

test.each<[message: string, run: () => void]>([
  ['expected the request to be allowed, but got:\n\n', () => expect(denied).toBeAllowed()],
  ['expected the request to be denied, but got:\n\n', () => expect(allowed).toBeDenied()],
  [
    "expected the request to be denied with { by: 'day' }, but got:\n\n",
    () => expect(denied).toBeDenied({ by: 'day' }),
  ],
  [
    "expected 1 remaining in the limit 'minute', but got:\n\n",
    () => expect(allowed).toHaveRemaining('minute', 1),
  ],
  ['did not expect the request to be denied, but got:\n\n', () => expect(denied).not.toBeDenied()],
  ['did not expect the request to be allowed, but got:\n\n', () => expect(allowed).not.toBeAllowed()],
  [
    "did not expect 0 remaining in the limit 'minute', but got:\n\n",
    () => expect(denied).not.toHaveRemaining('minute', 0),
  ],
])('fails with %p and the limits', (message, run) => {
  expect(run).toThrow(message)
  expect(run).toThrow('\n  minute: quota 1, used 1, remaining 0, one more in 60000 ms')
})

test('with not, too, it fails at what is no decision, and at a limit that is not listed', () => {
  expect(() => expect(Promise.resolve(denied)).not.toBeAllowed()).toThrow('write await')
  expect(() => expect(denied).not.toHaveRemaining('day', 5)).toThrow('does not list it')
})

test('within other matchers', () => {
  expect({ answer: denied }).toEqual({ answer: (expect as never as { toBeDenied(): unknown }).toBeDenied() })
})
