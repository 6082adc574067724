// A limiter on a store that fails on command goes the ways that it goes with Redis.
import { eventually } from '@tollgate/testing'
import type * as realTimers from '../../src/base/timers.js'
import type { LimiterOptions } from '../../src/index.js'
import {
  createTestLimiter,
  expectAllowed,
  expectDenied,
  expectRemaining,
  failingStore,
  testClock,
  type FailingStore,
  type TestLimiter,
} from '../../src/testing.js'

let mockIsQuick = false
// Thirty seconds pass at once if a test says so.
jest.mock('../../src/base/timers.js', () => {
  const timers = jest.requireActual<typeof realTimers>('../../src/base/timers.js')
  const quick = (run: () => void, ms: number): unknown =>
    timers.setTimeout(run, mockIsQuick && ms === 30_000 ? 0 : ms)
  return { ...timers, setTimeout: quick }
})

const made: { readonly limiter: TestLimiter; readonly store: FailingStore }[] = []
afterEach(async () => {
  for (const { limiter, store } of made.splice(0)) {
    store.heal()
    await limiter.close()
  }
})

function start(options: Partial<LimiterOptions> = {}): (typeof made)[number] {
  const clock = testClock()
  const store = failingStore(() => clock.memoryStore())
  // Longer than a busy machine needs, since only a store that hangs is to miss it.
  const common = { limit: '10/h', store, deadlineMs: 300, local: { instances: 1 }, warnings: false }
  const one = { limiter: createTestLimiter({ ...common, ...options } as LimiterOptions), store }
  made.push(one)
  return one
}

test('without a fault the store decides, by the clock of the test', async () => {
  const { limiter } = start({ limit: '1/h' })
  expectAllowed(await limiter.consume('acme'), { source: 'store' })
  expectDenied(await limiter.consume('acme'), { by: 'hour', retryAfterMs: 3_600_000, source: 'store' })
  limiter.clock.advance('1h')
  expectAllowed(await limiter.consume('acme'), { source: 'store' })
})

test.each(['down', 'hang', 'loseReplies'] as const)('%s: the failure policy decides', async (fault) => {
  for (const policy of ['open', 'closed', 'local'] as const) {
    const { limiter, store } = start({ onStoreFailure: policy, deadlineMs: 30 })
    store[fault]()
    const decision = await limiter.consume('acme')
    if (policy === 'closed') expectDenied(decision, { reason: 'store-unavailable', source: 'closed' })
    else expectAllowed(decision, { source: policy })
  }
})

test('a store that is slower than the deadline: the policy decides; faster, the store', async () => {
  const { limiter, store } = start({ deadlineMs: 300 })
  store.slow(20)
  expectAllowed(await limiter.consume('acme'), { source: 'store' })
  store.slow(2000)
  const asked = performance.now()
  expectAllowed(await limiter.consume('acme'), { source: 'local' })
  expect(performance.now() - asked).toBeLessThan(2000)
})

test('what was admitted meanwhile is charged when the store is healed, and the breaker closes', async () => {
  const { limiter, store } = start()
  const states: string[] = []
  limiter.on('breaker', ({ state }) => states.push(state))
  await limiter.consume('acme')
  store.down()
  for (let i = 0; i < 4; i += 1)
    expectAllowed(await limiter.consume('acme', { cost: 2 }), { source: 'local' })
  await eventually(async () => {
    await limiter.consume('other')
    return limiter.health().status === 'degraded'
  })
  store.heal()
  await eventually(() => limiter.health().status === 'ok')
  expect(states).toEqual(['open', 'half-open', 'closed'])
  expectRemaining(await limiter.peek('acme'), 'hour', 1)
})

test('next resolves with what listeners of the event get, once', async () => {
  const { limiter, store } = start()
  const [failed, charged] = [limiter.next('storeError'), limiter.next('reconciliation')]
  store.down(new Error('disk full'))
  await limiter.consume('acme', { cost: 2 })
  store.heal()
  expect(await failed).toEqual([expect.objectContaining({ message: 'the store failed: disk full' }), 1])
  expect(await charged).toEqual([{ units: 2, dropped: 0 }])
  expectRemaining(await limiter.peek('acme'), 'hour', 8)
})

test('next rejects if there is no event within 30 s, and an event that does not exist is refused', async () => {
  const { limiter } = start()
  const off = jest.spyOn(limiter, 'off')
  mockIsQuick = true
  await expect(limiter.next('shed')).rejects.toThrow(
    "an event 'shed' of the limiter, but there was none within 30 s",
  )
  mockIsQuick = false
  expect(off).toHaveBeenCalledTimes(1)
  expect(() => limiter.next('shod' as never)).toThrow("event: got 'shod'")
})

test('a store that hung counts late what it was asked, and what was admitted meanwhile only once', async () => {
  const { limiter, store } = start({ deadlineMs: 30 })
  store.hang()
  expectAllowed(await limiter.consume('acme', { cost: 3 }), { source: 'local' })
  store.heal()
  await eventually(async () => expectRemaining(await limiter.peek('acme'), 'hour', 7))
  await limiter.close()
  expect(limiter.stats().reconciled.units).toBeLessThanOrEqual(3)
})

test('a refund whose replies are lost counts once', async () => {
  const { limiter, store } = start()
  const decision = await limiter.consume('acme', { cost: 4 })
  await limiter.consume('acme')
  store.loseReplies(2)
  expect(await limiter.refund(decision)).toBe(false)
  await eventually(async () => expectRemaining(await limiter.peek('acme'), 'hour', 9))
  await limiter.close()
  expect(await store.peek([])).toEqual([])
})

test('after a failover the store has lost the units', async () => {
  const { limiter, store } = start()
  await limiter.consume('acme', { cost: 9 })
  store.failOver()
  expectRemaining(await limiter.peek('acme'), 'hour', 10)
})

test('a request that waits in line goes on as the clock of the test does', async () => {
  const clock = testClock()
  const plans = { free: { limits: '1/50s', wait: { maxDelay: '50s' } } } as const
  const limiter = createTestLimiter({ plans, defaultPlan: 'free', clock })
  await limiter.consume('acme')
  const waiting = limiter.consume('acme')
  clock.advance('50s')
  expectAllowed(await waiting, { source: 'place' })
  await limiter.close()
})

test('requests in flight are counted by it', async () => {
  const limiter = createTestLimiter({ limit: '1 concurrent' })
  await limiter.consume('acme')
  limiter.clock.advance('1h')
  await limiter.consume('acme')
  limiter.decisions[0]?.release()
  await limiter.consume('acme')
  expect(limiter.decisions.map(({ allowed }) => allowed)).toEqual([true, false, true])
})
