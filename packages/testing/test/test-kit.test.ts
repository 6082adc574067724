// @tollgate/core/testing as it is published, in node:test, and its matchers as Vitest calls them. That they work in Jest is tested in
// packages/core/test/testing.
import { spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestLimiter, tollgateMatchers, type MatcherAnswer } from '@tollgate/core/testing'
import { makeFolder } from './docs-programs.ts'
import { importsOf, requiresOf } from './packed-imports.ts'

const USED = {
  'node:test': ['test'],
  '@tollgate/core': ['createLimiter'],
  '@tollgate/core/testing': [
    ...['createTestLimiter', 'expectAllowed', 'expectDenied', 'expectRemaining', 'failingStore', 'testClock'],
  ],
}

/** Two tests that pass and one that fails. */
const PROGRAM = `
test('a minute later there is room again', async () => {
  const clock = testClock('2030-01-01T00:00:00Z')
  const limiter = createTestLimiter({ limit: '1/min', clock })
  expectAllowed(await limiter.consume('acme'))
  expectDenied(await limiter.consume('acme'), { by: 'minute', retryAfterMs: 60_000 })
  clock.advance('1min')
  expectRemaining(await limiter.peek('acme'), 'minute', 1)
  await limiter.close()
})

for (const fault of ['down', 'hang', 'slow', 'loseReplies']) {
  test('this process limits by itself: ' + fault, async () => {
    const store = failingStore(testClock().memoryStore())
    const limiter = createLimiter({ limit: '1/min', store, deadlineMs: 20, warnings: false })
    store[fault](fault === 'slow' ? 50_000 : undefined)
    expectAllowed(await limiter.consume('acme'), { source: 'local' })
    expectDenied(await limiter.consume('acme'), { source: 'local' })
    await limiter.close()
  })
}

test('it fails', async () => {
  const limiter = createTestLimiter({ limit: '1/min' })
  expectDenied(await limiter.consume('acme'), { by: 'minute' })
})
`

test.each([
  ['esm', 'mjs', importsOf(USED)],
  ['cjs', 'cjs', requiresOf(USED)],
])('in node:test, as %s', (_, extension, imports) => {
  const folder = makeFolder('test-kit')
  try {
    const file = join(folder, `kit.test.${extension}`)
    writeFileSync(file, imports + PROGRAM)
    const options = { encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '' } } as const
    const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], options)
    const results = [...stdout.matchAll(/^(not ok|ok) \d+ - (.*)$/gm)].map(([, result, name]) => [
      name,
      result,
    ])
    expect(results).toEqual([
      ['a minute later there is room again', 'ok'],
      ...['down', 'hang', 'slow', 'loseReplies'].map((fault) => [
        `this process limits by itself: ${fault}`,
        'ok',
      ]),
      ['it fails', 'not ok'],
    ])
    expect(stdout).toContain("expected the request to be denied with { by: 'minute' }, but got:")
    expect(stdout).toContain('minute: quota 1, used 1, remaining 0, one more in 60000 ms')
    expect(stdout).toContain("code: 'ERR_ASSERTION'")
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** As the `expect.extend` of Vitest makes an assertion from a matcher: chai sets `negate` for `.not`. */
function vitestAssertion(matcher: (...args: never[]) => MatcherAnswer, negate: boolean) {
  return (received: unknown, ...args: unknown[]): void => {
    const state = { isNot: negate, equals: Object.is, utils: {} }
    const { pass, message, actual, expected } = matcher.call(state, ...([received, ...args] as never[]))
    if (pass === negate) throw Object.assign(new Error(message()), { actual, expected })
  }
}

test('the matchers as Vitest calls them', async () => {
  const limiter = createTestLimiter({ limit: '1/min' })
  const [allowed, denied] = [await limiter.consume('acme'), await limiter.consume('acme')]
  const { toBeAllowed, toBeDenied, toHaveRemaining } = tollgateMatchers
  vitestAssertion(toBeAllowed, false)(allowed)
  vitestAssertion(toBeDenied, false)(denied, { by: 'minute' })
  vitestAssertion(toHaveRemaining, false)(allowed, 'minute', 0)
  vitestAssertion(toBeAllowed, true)(denied)
  expect(() => vitestAssertion(toBeAllowed, false)(denied)).toThrow(
    'expected the request to be allowed, but got:',
  )
  expect(() => vitestAssertion(toBeDenied, true)(denied)).toThrow(
    'did not expect the request to be denied, but got:',
  )
  expect(() => vitestAssertion(toHaveRemaining, false)(allowed, 'minute', 1)).toThrow(
    expect.objectContaining({
      actual: { limit: 'minute', remaining: 0 },
      expected: { limit: 'minute', remaining: 1 },
    }),
  )
})
