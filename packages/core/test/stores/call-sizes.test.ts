// How much one call asks of a store: bounded in requests and in limits, whatever is asked for at a time.
import { createLimiter, memoryStore, type Limiter, type LimiterOptions, type Store } from '../../src/index.js'
import { limitsIn, MOST_LIMITS_A_CALL, type Sized } from '../../src/stores/batcher.js'
import { asyncStore } from '../support/stores.js'

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

/** How many requests each call had, and about how many limits they were. */
interface Calls {
  readonly consume: (readonly [requests: number, limits: number])[]
  readonly refund: (readonly [requests: number, limits: number])[]
}

function start(options: Partial<LimiterOptions> = {}): {
  limiter: Limiter
  calls: Calls
  store: { isDown: boolean }
} {
  const inner = memoryStore()
  const calls: Calls = { consume: [], refund: [] }
  const state = { isDown: false }
  const sizeOf = (batch: readonly Sized[]): readonly [number, number] => [
    batch.length,
    batch.reduce((sum, request) => sum + limitsIn(request), 0),
  ]
  const change: Partial<Store> = {
    consume: async (batch) => {
      if (state.isDown) throw new Error('down')
      calls.consume.push(sizeOf(batch))
      return inner.consume(batch)
    },
    refund: async (batch) => {
      calls.refund.push(sizeOf(batch))
      return inner.refund(batch)
    },
  }
  const limiter = createLimiter({
    plans: { big: limitsOf(32), small: limitsOf(2), huge: limitsOf(200) },
    store: asyncStore(change, inner),
    deadlineMs: 10_000,
    local: { instances: 1 },
    warnings: false,
    ...options,
  } as LimiterOptions)
  limiters.push(limiter)
  return { limiter, calls, store: state }
}

const limitsOf = (count: number): { quota: number; window: string; name: string }[] =>
  Array.from({ length: count }, (_, i) => ({ quota: 1000, window: `${i + 1}h`, name: `limit-${i}` }))
const eight = (i: number, plan = 'big'): { id: string; plan: string }[] =>
  Array.from({ length: 8 }, (_, j) => ({ id: `${i}-${j}`, plan }))
const sum = (calls: Calls['consume']): number => calls.reduce((total, [requests]) => total + requests, 0)

test('reservations, and what is told of them: each reads all that its subject has open', async () => {
  const { limiter, calls } = start()
  const small = { id: 'a', plan: 'small' }
  const held = await Promise.all(Array.from({ length: 128 }, () => limiter.reserve(small, { for: '1 min' })))
  const made = calls.consume.splice(0)
  await Promise.all(held.map((one) => one.commit(1)))
  for (const sent of [made, calls.consume]) {
    expect(sum(sent)).toBe(128)
    expect(Math.max(...sent.map(([requests]) => requests))).toBeLessThanOrEqual(64)
    expect(Math.max(...sent.map(([, limits]) => limits))).toBeLessThanOrEqual(MOST_LIMITS_A_CALL)
  }
  expect((await limiter.peek(small)).limits[0]?.remaining).toBe(1000 - 128)
})

test('requests of many subjects with many limits', async () => {
  const { limiter, calls } = start()
  const decisions = await Promise.all(Array.from({ length: 128 }, (_, i) => limiter.consume(eight(i))))
  expect(decisions.every(({ allowed }) => allowed)).toBe(true)
  expect(sum(calls.consume)).toBe(128)
  expect(Math.max(...calls.consume.map(([, limits]) => limits))).toBe(MOST_LIMITS_A_CALL)
})

test('plain requests still share one call', async () => {
  const { limiter, calls } = start()
  await Promise.all(
    Array.from({ length: 128 }, (_, i) =>
      limiter.consume([
        { id: `${i}`, plan: 'small' },
        { id: 'b', plan: 'small' },
      ]),
    ),
  )
  expect(calls.consume).toEqual([[128, 512]])
})

test('a request about more limits than a call may have goes alone, and those around it together', async () => {
  const { limiter, calls } = start()
  const small = (): unknown => limiter.consume({ id: 'a', plan: 'small' })
  const large = (): unknown => limiter.consume(eight(0, 'huge'))
  await Promise.all([small(), small(), large(), small(), small()])
  expect(calls.consume).toEqual([
    [2, 4],
    [1, 1600],
    [2, 4],
  ])
})

test('refunds', async () => {
  const { limiter, calls } = start()
  const decisions = await Promise.all(Array.from({ length: 20 }, (_, i) => limiter.consume(eight(i))))
  expect(await Promise.all(decisions.map((decision) => limiter.refund(decision)))).toEqual(
    decisions.map(() => true),
  )
  expect(sum(calls.refund)).toBe(20)
  expect(Math.max(...calls.refund.map(([, limits]) => limits))).toBe(MOST_LIMITS_A_CALL)
})

test('what is charged after an outage', async () => {
  const { limiter, calls, store } = start()
  store.isDown = true
  await Promise.all(Array.from({ length: 20 }, (_, i) => limiter.consume(eight(i))))
  store.isDown = false
  const reconciled = new Promise((resolve) => limiter.on('reconciliation', resolve))
  await limiter.close()
  await reconciled
  expect(sum(calls.consume)).toBeGreaterThanOrEqual(160)
  expect(Math.max(...calls.consume.map(([, limits]) => limits))).toBe(MOST_LIMITS_A_CALL)
})
