// The event of a call of the store: what requests waited for, and how long.
import {
  createLimiter,
  memoryStore,
  type Limiter,
  type LimiterOptions,
  type Store,
  type StoreCall,
} from '../../src/index.js'
import { elapsedMs } from '../../src/base/timers.js'
import { failingStore } from '../../src/testing.js'
import { closesWithTest } from '../support/faults.js'
import { asyncStore } from '../support/stores.js'

function limiterOn(store: Store, options: Partial<LimiterOptions> = {}): Limiter {
  return closesWithTest(
    createLimiter({ limit: '100/min', store, warnings: false, deadlineMs: 1000, ...options }),
  )
}

function callsOf(limiter: Limiter): StoreCall[] {
  const calls: StoreCall[] = []
  limiter.on('storeCall', (call) => void calls.push(call))
  return calls
}

test('decisions in one batch are one call, and a peek, a refund and a reset are one each', async () => {
  const limiter = limiterOn(failingStore(memoryStore()))
  const calls = callsOf(limiter)
  await Promise.all([limiter.consume('acme'), limiter.consume('globex'), limiter.consume('acme')])
  expect(calls).toEqual([{ shard: 0, durationMs: expect.any(Number), error: undefined }])
  await limiter.peek('acme')
  await limiter.refund('acme', 1)
  await limiter.reset('acme')
  expect(calls.length).toBe(4)
})

test('it takes as long as the store does', async () => {
  const inner = memoryStore()
  const took: number[] = []
  const store = asyncStore({
    async consume(batch) {
      const beganMs = elapsedMs()
      await new Promise((resolve) => setTimeout(resolve, 30))
      took.push(elapsedMs() - beganMs)
      return inner.consume(batch)
    },
  })
  const limiter = limiterOn(store, { deadlineMs: 5000 })
  const calls = callsOf(limiter)
  await limiter.consume('acme')
  // Housekeeping may call it, too, and no request waits for that.
  const [[call], [tookMs]] = [calls, took] as [[StoreCall], [number]]
  expect(tookMs).toBeGreaterThan(20)
  expect(call.durationMs).toBeGreaterThanOrEqual(tookMs)
})

test('a call that fails says why, and one without an answer ends at the deadline', async () => {
  const store = failingStore(memoryStore())
  const limiter = limiterOn(store, { deadlineMs: 200 })
  const calls = callsOf(limiter)
  store.down(new Error('gone'))
  await limiter.consume('acme')
  expect(calls[0]?.error).toMatchObject({ name: 'StoreError', message: expect.stringContaining('gone') })
  store.heal()
  store.hang()
  await limiter.consume('acme')
  expect(calls[1]?.error).toMatchObject({ reason: 'timeout' })
  expect(calls[1]?.durationMs).toBeGreaterThanOrEqual(200)
})

test('probes and charges are not among them, nor what an open breaker refused', async () => {
  const store = failingStore(memoryStore())
  const limiter = limiterOn(store)
  const calls = callsOf(limiter)
  store.down(new Error('gone'))
  while (limiter.health().status === 'ok') await limiter.consume('acme')
  const failed = calls.length
  await limiter.consume('acme')
  store.heal()
  const isBack = new Promise<void>((resolve) => {
    limiter.on('breaker', ({ state }) => void (state === 'closed' && resolve()))
  })
  await isBack
  expect(calls.length).toBe(failed)
  await limiter.consume('acme')
  expect(calls.slice(failed)).toEqual([{ shard: 0, durationMs: expect.any(Number), error: undefined }])
})
