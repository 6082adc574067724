// What is asked before something is booked, and how long its key is remembered.
import { testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Limiter } from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

const LATER = { until: '2100-01-01T00:00:00Z' } as const

const limiters: Limiter[] = []
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})

describe('the plan on which something is booked', () => {
  const plans = { free: [{ quota: 100, window: 'month' }], pro: [{ quota: 5, window: 'month', anchor: 15 }] }
  const call = { limit: 'month', units: 3, key: 'order-17', ...LATER } as const

  test('is asked for again, and if that fails, nothing is booked', async () => {
    let plan = 'free'
    let fails = false
    const planOf = async (): Promise<string> => (fails ? Promise.reject(new Error('no database')) : plan)
    const limiter = createLimiter({ plans, defaultPlan: 'free', planOf, warnings: false } as never)
    limiters.push(limiter)
    expect(await limiter.consume('acme')).toMatchObject({ plan: 'free' })
    fails = true
    await expect(limiter.topUp('acme', call)).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_PLAN',
      message: 'planOf failed: no database',
    })
    // It has paid for another plan meanwhile.
    plan = 'pro'
    fails = false
    expect(await limiter.topUp('acme', call)).toMatchObject({
      isRepeated: false,
      limit: { quota: 5, remaining: 8 },
    })
    expect(await limiter.peek('acme')).toMatchObject({ plan: 'pro', limits: [{ toppedUp: 3 }] })
  })

  test('is asked for once, also if no answer is remembered', async () => {
    let asked = 0
    const planOf = async (): Promise<string> => {
      asked += 1
      return asked === 1 ? 'pro' : Promise.reject(new Error('no database'))
    }
    const planCache = { ttlMs: 0, staleMs: 0 }
    const limiter = createLimiter({ plans, defaultPlan: 'free', planOf, planCache, warnings: false } as never)
    limiters.push(limiter)
    expect(await limiter.topUp('acme', call)).toMatchObject({ limit: { quota: 5, remaining: 8 } })
    expect(asked).toBe(1)
  })

  test('must be among the plans', async () => {
    const limiter = createLimiter({ plans, defaultPlan: 'free', warnings: false } as never)
    limiters.push(limiter)
    await expect(limiter.topUp({ id: 'acme', plan: 'prp' }, call)).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_PLAN',
      message: "plan: got 'prp', expected 'pro'",
    })
  })
})

test('a key is forgotten after seven days, or once a window has passed', async () => {
  const clock = { now: Date.UTC(2026, 0, 10) }
  const limiter = createLimiter({
    plans: {
      p: [
        { quota: 3, window: 'month' },
        { quota: 9, window: 'h', algorithm: 'fixed-window' },
      ],
    },
    ...{ defaultPlan: 'p', store: memoryStore({ now: () => clock.now }), warnings: false },
  } as never)
  limiters.push(limiter)
  const book = async (limit: string): Promise<boolean> => {
    return (await limiter.topUp('acme', { limit, units: 1, for: '1h', key: `order of ${limit}` })).isRepeated
  }
  expect([await book('month'), await book('hour')]).toEqual([false, false])
  clock.now += 7 * 86_400_000 - 1
  expect([await book('month'), await book('hour')]).toEqual([true, true])
  clock.now += 1
  expect([await book('month'), await book('hour')]).toEqual([true, false])
  clock.now = Date.UTC(2026, 1, 10) - 1
  expect(await book('month')).toBe(true)
  clock.now += 1
  expect(await book('month')).toBe(false)
})

test('a store that cannot book says so', async () => {
  const limiter = createLimiter({
    limit: '3/month',
    store: asyncStore({ accounts: false }),
    warnings: false,
  } as never)
  limiters.push(limiter)
  const topUp = limiter.topUp('acme', { limit: 'month', units: 1, key: '1', ...LATER })
  await expect(topUp).rejects.toThrow(/^store: this store books nothing on limits: use redisStore/)
})

test('in Redis, a key lives until its account ends, and not longer', async () => {
  const prefix = testPrefix()
  const limiter = createLimiter({
    limit: { quota: 3, window: '10s', algorithm: 'fixed-window' },
    store: redisStore(sharedRedis(), { prefix }),
    warnings: false,
    deadlineMs: 30_000,
  })
  limiters.push(limiter)
  await limiter.consume('acme')
  await limiter.topUp('acme', { limit: '10-seconds', units: 1, for: '30d', key: '1' })
  await limiter.consume('acme')
  const days = (await sharedRedis().pttl(`${prefix}/acme`)) / 86_400_000
  expect(days).toBeGreaterThan(29.9)
  expect(days).toBeLessThan(30.01)
})

test('in Redis, with overage, a key lives for two and a quarter windows more than its account, and not longer', async () => {
  const prefix = testPrefix()
  const limiter = createLimiter({
    limit: { quota: 3, window: 'month', overage: true },
    store: redisStore(sharedRedis(), { prefix }),
    warnings: false,
    deadlineMs: 30_000,
  })
  limiters.push(limiter)
  await limiter.topUp('acme', { limit: 'month', units: 1, for: '100d', key: '1' })
  await limiter.consume('acme')
  const days = (await sharedRedis().pttl(`${prefix}/acme`)) / 86_400_000
  expect(days).toBeGreaterThan(100 + 2.25 * 28 - 0.1)
  expect(days).toBeLessThan(100 + 2.25 * 31 + 0.1)
})

test('the event says what was booked, once', async () => {
  const limiter = createLimiter({
    plans: { pro: { limits: { quota: 3, window: 'month' } } },
    defaultPlan: 'pro',
  })
  limiters.push(limiter)
  const heard: unknown[] = []
  limiter.on('booked', (change) => void heard.push(change))
  const of = { subject: { id: 'acme' }, limit: 'month' }
  for (let i = 0; i < 2; i += 1) {
    await limiter.topUp('acme', { limit: 'month', units: 2, for: '1d', key: 'order-17' })
    await limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
  }
  const exports = limiter.scope({ group: 'exports', limit: '9/h' })
  await exports.penalize('acme', { limit: 'hour', units: 4, key: 'abuse-3' })
  expect(heard).toEqual([
    { ...of, kind: 'topUp', plan: 'pro', place: undefined, units: 2, key: 'order-17' },
    { ...of, kind: 'renewal', plan: 'pro', place: undefined, units: 0, key: 'invoice-1' },
    { ...of, kind: 'penalty', plan: undefined, place: 'exports', limit: 'hour', units: 4, key: 'abuse-3' },
  ])
})

test.each(['memory', 'Redis'])('what comes back fills the top-up that ends last, on %s', async (where) => {
  const clock = { now: Date.UTC(2026, 0, 10) }
  const now = (): number => clock.now
  const store =
    where === 'memory' ? memoryStore({ now }) : redisStore(sharedRedis(), { prefix: testPrefix(), now })
  const limiter = createLimiter({
    limit: { quota: 1, window: 'month' },
    store,
    warnings: false,
    deadlineMs: 30_000,
  })
  limiters.push(limiter)
  for (const [key, length] of [
    ['short', '1h'],
    ['long', '3h'],
  ] as const) {
    await limiter.topUp('acme', { limit: 'month', units: 2, for: length, key })
  }
  await limiter.consume('acme', { cost: 3 })
  const decision = await limiter.consume('acme', { cost: 2 })
  await limiter.refund(decision)
  await limiter.consume('acme')
  clock.now += 2 * 3_600_000
  expect((await limiter.peek('acme')).limits[0]).toMatchObject({ remaining: 1, toppedUp: 1 })
})
