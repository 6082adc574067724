// Where top-ups, renewals and penalties meet other features, in memory and on Redis.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

const MONTH = { quota: 3, window: 'month' } as const
const LATER = { until: '2100-01-01T00:00:00Z' } as const

const stores: readonly [string, () => Store][] = [
  ['memory', () => memoryStore()],
  ['memory, asynchronous', () => asyncStore()],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix() })],
]

const limiters: Limiter[] = []
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})

describe.each(stores)('%s', (_, newStore) => {
  function make(options: object, store = newStore()): Limiter {
    const more = { store, warnings: false, deadlineMs: 30_000, onStoreFailure: 'closed' }
    const limiter = createLimiter({ ...more, ...options } as unknown as LimiterOptions)
    limiters.push(limiter)
    return limiter
  }

  async function allowed(
    limiter: Limiter,
    times: number,
    subject: object | string = 'acme',
  ): Promise<boolean[]> {
    const all: boolean[] = []
    for (let i = 0; i < times; i += 1) all.push((await limiter.consume(subject as string)).allowed)
    return all
  }

  async function monthOf(limiter: Limiter, subject: object | string = 'acme'): Promise<object | undefined> {
    return (await limiter.peek(subject as string)).limits.find(({ name }) => name.endsWith('month'))
  }

  test('a top-up is used after the quota, shown, and said once for its key', async () => {
    const limiter = make({ limit: MONTH })
    const call = { limit: 'month', units: 2, key: 'order-17', ...LATER } as const
    const first = await limiter.topUp('acme', call)
    expect(first).toMatchObject({
      isRepeated: false,
      limit: { used: 0, remaining: 5, toppedUp: 2, quota: 3 },
    })
    const again = await limiter.topUp('acme', call)
    expect(again).toMatchObject({ isRepeated: true, limit: { remaining: 5, toppedUp: 2 } })
    await expect(limiter.topUp('acme', { ...call, units: 3 })).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_KEY',
    })
    await expect(limiter.renew('acme', { limit: 'month', key: 'order-17' })).rejects.toThrow(
      /^key: 'order-17' was booked with other values/,
    )
    expect(await allowed(limiter, 4)).toEqual([true, true, true, true])
    expect(await monthOf(limiter)).toMatchObject({ used: 3, remaining: 1, toppedUp: 1 })
    expect(await allowed(limiter, 2)).toEqual([true, false])
    expect(await monthOf(limiter)).not.toHaveProperty('toppedUp')
  })

  test('a top-up ends a remembered denial of this process', async () => {
    const limiter = make({ limit: MONTH, denials: { recheckMs: 60_000 } })
    expect(await allowed(limiter, 5)).toEqual([true, true, true, false, false])
    await limiter.topUp('acme', { limit: 'month', units: 1, key: '1', ...LATER })
    expect(await allowed(limiter, 2)).toEqual([true, false])
    await limiter.renew('acme', { limit: 'month', key: '2' })
    expect(await allowed(limiter, 4)).toEqual([true, true, true, false])
  })

  test('a renewal leaves other limits alone, and gives nothing from before back', async () => {
    const limiter = make({ limit: [MONTH, '5/h'] })
    const before = await limiter.consume('acme', { cost: 3 })
    await limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
    expect(await monthOf(limiter)).toMatchObject({ used: 0, remaining: 3 })
    await limiter.consume('acme', { cost: 2 })
    await limiter.refund(before)
    expect((await limiter.peek('acme')).limits).toMatchObject([
      { name: 'month', used: 2 },
      { name: 'hour', used: 2 },
    ])
  })

  test('a reservation from before a renewal counts in the new period', async () => {
    const limiter = make({ limit: MONTH })
    const held = await limiter.reserve('acme', { cost: 2, for: '1min' })
    await limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
    expect(await monthOf(limiter)).toMatchObject({ remaining: 1 })
    await held.commit(2)
    expect(await monthOf(limiter)).toMatchObject({ used: 2, remaining: 1 })
  })

  test('a reservation can be of the top-up, and what it does not use goes back there', async () => {
    const limiter = make({ limit: MONTH })
    await limiter.topUp('acme', { limit: 'month', units: 5, key: '1', ...LATER })
    const held = await limiter.reserve('acme', { cost: 7, for: '1min' })
    expect(held.allowed).toBe(true)
    expect(await allowed(limiter, 2)).toEqual([true, false])
    await held.commit(4)
    expect(await monthOf(limiter)).toMatchObject({ used: 3, remaining: 3, toppedUp: 3 })
  })

  test('what does not fit beside a reservation may fit when that ends unused, if the top-up is still there', async () => {
    // The other limit makes the client wait, too: it must come when both have room.
    for (const limit of [MONTH, [MONTH, { quota: 9, window: '20s', algorithm: 'fixed-window' }]]) {
      const limiter = make({ limit })
      await limiter.topUp('acme', { limit: 'month', units: 5, key: '1', for: '1d' })
      await limiter.reserve('acme', { cost: 7, for: '1min' })
      const denied = await limiter.consume('acme', { cost: 4 })
      expect(denied).toMatchObject({ allowed: false, retryAfterMs: expect.any(Number) })
      expect(denied.retryAfterMs).toBeGreaterThan(20_000)
      expect(denied.retryAfterMs).toBeLessThan(120_000)
      expect(await limiter.consume('acme', { cost: 9 })).toMatchObject({ allowed: false, retryAfterMs: null })
    }
  })

  test('any algorithm can be renewed and penalized, and only windows topped up', async () => {
    for (const limit of [
      '3/min',
      { quota: 3, window: 'min', algorithm: 'token-bucket' },
      { quota: 3, window: 'min', algorithm: 'sliding-window' },
    ]) {
      const limiter = make({ limit })
      const penalty = await limiter.penalize('acme', { limit: 'minute', units: 3, key: 'abuse' })
      expect(penalty).toMatchObject({ isRepeated: false, limit: { remaining: 0 } })
      expect(await allowed(limiter, 1)).toEqual([false])
      const renewed = await limiter.renew('acme', { limit: 'minute', key: 'sorry' })
      expect(renewed).toMatchObject({ limit: { used: 0, remaining: 3 } })
      const topUp = limiter.topUp('acme', { limit: 'minute', units: 1, key: '1', ...LATER })
      await expect(topUp).rejects.toThrow(
        /^limit: 'minute' cannot have top-ups, because .* count it in windows/,
      )
    }
  })

  test('a penalty can go over the quota', async () => {
    const limiter = make({ limit: MONTH })
    await limiter.penalize('acme', { limit: 'month', units: 5, key: 'abuse' })
    expect(await monthOf(limiter)).toMatchObject({ used: 3, remaining: 0 })
    await limiter.topUp('acme', { limit: 'month', units: 1, key: '1', ...LATER })
    expect(await allowed(limiter, 2)).toEqual([true, false])
  })

  test('groups and stacked limits have their own', async () => {
    const limiter = make({ limit: '100/d' })
    const exports = limiter.scope({ group: 'exports', limit: { quota: 1, window: 'month' } })
    const stacked = limiter.scope({ stacked: { reports: { quota: 1, window: 'month' } } })
    await exports.topUp('acme', { limit: 'month', units: 1, key: '1', ...LATER })
    await stacked.topUp('acme', { limit: 'reports.month', units: 2, key: '1', ...LATER })
    const ask = async (one: typeof exports, times: number): Promise<boolean[]> => {
      const all: boolean[] = []
      for (let i = 0; i < times; i += 1) all.push((await one.consume('acme')).allowed)
      return all
    }
    expect(await ask(exports, 3)).toEqual([true, true, false])
    expect(await ask(stacked, 4)).toEqual([true, true, true, false])
    await expect(limiter.topUp('acme', { limit: 'month', units: 1, key: '2', ...LATER })).rejects.toThrow(
      "limit: got 'month', expected a limit of the plan 'default': 'day'",
    )
  })

  test('while the plan has no such limit, a top-up waits', async () => {
    const plans = { pro: { limits: [MONTH] }, free: '2/d', larger: { limits: [{ ...MONTH, quota: 4 }] } }
    const limiter = make({ plans, defaultPlan: 'free' })
    await limiter.topUp({ id: 'acme', plan: 'pro' }, { limit: 'month', units: 2, key: '1', ...LATER })
    expect(await allowed(limiter, 4, { id: 'acme', plan: 'pro' })).toEqual([true, true, true, true])
    expect(await allowed(limiter, 3, { id: 'acme', plan: 'free' })).toEqual([true, true, false])
    expect(await monthOf(limiter, { id: 'acme', plan: 'larger' })).toMatchObject({
      used: 4,
      remaining: 2,
      toppedUp: 2,
    })
    expect(await allowed(limiter, 2, { id: 'acme', plan: 'pro' })).toEqual([true, false])
  })

  test('overage begins after the top-up', async () => {
    const limiter = make({ limit: { ...MONTH, overage: true } })
    await limiter.consume('acme', { cost: 5 })
    await limiter.topUp('acme', { limit: 'month', units: 4, key: '1', ...LATER })
    expect(await monthOf(limiter)).toMatchObject({ over: 2, toppedUp: 4, remaining: 4 })
    await limiter.consume('acme', { cost: 3 })
    expect(await monthOf(limiter)).toMatchObject({ over: 2, toppedUp: 1 })
    await limiter.consume('acme', { cost: 3 })
    expect(await monthOf(limiter)).toMatchObject({ over: 4, remaining: 0 })
  })

  test('a cap on the same window has the top-up, too', async () => {
    const cap = { quota: 5, window: 'month', name: 'cap' }
    for (const limit of [
      [{ ...MONTH, overage: true }, cap],
      [cap, { ...MONTH, overage: true }],
    ]) {
      const limiter = make({ limit })
      await limiter.topUp('acme', { limit: 'month', units: 2, key: '1', ...LATER })
      expect(await allowed(limiter, 8)).toEqual([true, true, true, true, true, true, true, false])
      expect(await monthOf(limiter)).toMatchObject({ over: 2, remaining: 0 })
    }
  })

  test('a warning tells of the quota alone, and again after a renewal', async () => {
    const limiter = make({
      plans: { pro: { limits: [{ quota: 10, window: 'month' }], warnAt: [0.5] } },
      defaultPlan: 'pro',
    })
    const told: number[] = []
    limiter.on('nearLimit', ({ used }) => void told.push(used))
    await limiter.topUp('acme', { limit: 'month', units: 100, key: '1', ...LATER })
    await limiter.consume('acme', { cost: 4 })
    expect(told).toEqual([])
    await limiter.consume('acme')
    await eventually(() => told.length === 1, 'the warning')
    await limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
    await limiter.consume('acme', { cost: 6 })
    await eventually(() => told.length === 2, 'the warning of the new period')
    expect(told).toEqual([5, 6])
  })

  test('a request of several subjects uses the top-ups of each', async () => {
    const limiter = make({ limit: MONTH })
    await limiter.topUp('org', { limit: 'month', units: 1, key: '1', ...LATER })
    const both = async (user: string): Promise<boolean> => (await limiter.consume(['org', user])).allowed
    expect([await both('ann'), await both('ann'), await both('ann')]).toEqual([true, true, true])
    expect([await both('ann'), await both('bob'), await both('bob')]).toEqual([false, true, false])
    expect(await monthOf(limiter, 'org')).toMatchObject({ used: 3, remaining: 0 })
    expect(await monthOf(limiter, 'bob')).toMatchObject({ used: 1, remaining: 2 })
  })

  test('the 65th key is refused, and none is forgotten early', async () => {
    const limiter = make({ limit: { quota: 1, window: 'h', algorithm: 'fixed-window' } })
    const book = (n: number): Promise<{ readonly isRepeated: boolean }> =>
      limiter.topUp('acme', { limit: 'hour', units: 1, key: `order-${n}`, ...LATER })
    for (let n = 1; n <= 64; n += 1) expect(await book(n)).toMatchObject({ isRepeated: false })
    await expect(book(65)).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_TOO_MANY_KEYS',
      message: expect.stringMatching(/^key: this subject has 64 keys that still count/),
    })
    expect(await book(1)).toMatchObject({ isRepeated: true, limit: { remaining: 65, toppedUp: 64 } })
  })

  test('equal calls at once count once, and requests at once get no unit too many', async () => {
    const limiter = make({ limit: MONTH })
    const call = { limit: 'month', units: 4, key: 'order-17', ...LATER } as const
    const asked = Array.from({ length: 60 }, (_one, i) =>
      i % 6 === 0 ? limiter.topUp('acme', call) : limiter.consume('acme'),
    )
    const answers = await Promise.all(asked)
    const booked = answers.filter((one) => 'isRepeated' in one && !one.isRepeated)
    expect(booked).toHaveLength(1)
    const later = await allowed(limiter, 8)
    const admitted = [...answers.map((one) => 'allowed' in one && one.allowed), ...later].filter(Boolean)
    expect(admitted).toHaveLength(7)
  })

  test('what exceeds the quota on a plan with a line is let in at once', async () => {
    const limit = { quota: 3, window: 'd', algorithm: 'fixed-window' }
    const limiter = make({
      plans: { line: { limits: [limit, '100/s'], wait: { maxDelay: '1s' } } },
      defaultPlan: 'line',
    })
    await limiter.topUp('acme', { limit: 'day', units: 1, key: '1', ...LATER })
    expect(await allowed(limiter, 5)).toEqual([true, true, true, true, false])
  })

  test('reset forgets top-ups and keys', async () => {
    const limiter = make({ limit: MONTH })
    const call = { limit: 'month', units: 4, key: 'order-17', ...LATER } as const
    await limiter.topUp('acme', call)
    expect(await limiter.reset('acme')).toBe(true)
    expect(await monthOf(limiter)).not.toHaveProperty('toppedUp')
    expect(await limiter.topUp('acme', call)).toMatchObject({ isRepeated: false })
  })

  test('an id alone is refused where its plan is not known', async () => {
    const plans = { free: [MONTH], pro: { limits: [{ ...MONTH, quota: 9 }] } }
    const call = { limit: 'month', units: 1, key: '1', ...LATER }
    const limiter = make({ plans, defaultPlan: 'free' } as never)
    const problem =
      "subject: got only the id 'acme', and there are several plans: pass the same as to consume, such as { id: 'acme', plan: 'free' }"
    await expect(limiter.topUp('acme', call)).rejects.toThrow(problem)
    await expect(limiter.renew('acme', { limit: 'month', key: '1' })).rejects.toThrow(problem)
    await expect(limiter.penalize('acme', { limit: 'month', units: 1, key: '1' })).rejects.toThrow(problem)
    await expect(limiter.usageOf('acme', { limit: 'month' })).rejects.toThrow(problem)
    expect(await limiter.topUp({ id: 'acme', plan: 'pro' }, call)).toMatchObject({ limit: { remaining: 10 } })
    expect(await limiter.usageOf({ id: 'acme' }, { limit: 'month' })).toMatchObject({ quota: MONTH.quota })
    // Its own limits are the same for all plans.
    const exports = limiter.scope({ group: 'exports', limit: MONTH } as never)
    expect(await exports.topUp('acme', call)).toMatchObject({ isRepeated: false })
    const known = make({ plans, defaultPlan: 'free', planOf: () => 'pro' } as never)
    expect(await known.topUp('acme', call)).toMatchObject({ limit: { remaining: 10 } })
  })

  test('bad input is refused, and nothing is booked', async () => {
    const limiter = make({ limit: [MONTH, '5 concurrent', { quota: 9, window: 'h', mode: 'observe' }] })
    const good = { limit: 'month', units: 1, key: '1', ...LATER }
    const refused = async (change: object, problem: RegExp): Promise<void> => {
      await expect(limiter.topUp('acme', { ...good, ...change } as never)).rejects.toThrow(problem)
    }
    for (const units of [0, -1, 1.5, 2 ** 53, NaN, '5', undefined])
      await refused({ units }, /^units: got .*, expected a whole number from 1/)
    for (const key of ['', 'x'.repeat(201), 'a\nb', 7, undefined, null])
      await refused({ key }, /^key: got .*, expected a text that says what this is for/)
    for (const limit of ['', undefined, 7])
      await refused({ limit }, /^limit: got .*, expected the name of a limit/)
    for (const limit of ['concurrent', 'day', 'hour'])
      await refused({ limit }, /^limit: got .*, expected a limit of the plan 'default': 'month'/)
    await refused(
      { until: '2020-01-01T00:00:00Z' },
      /^until: got .*, expected a time to come: by the store's clock it is/,
    )
    await refused({ until: '2100-01-01' }, /^until: got .*, expected a time with its time zone/)
    await refused({ until: undefined }, /^for: a top-up needs an end/)
    await refused({ for: '1h' }, /^for: there is also until/)
    await refused({ amount: 3 }, /^amount: .*units/)
    await expect(limiter.topUp({ id: '' }, good as never)).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_SUBJECT',
    })
    await expect(limiter.renew('acme', { limit: 'month', key: '1', units: 3 } as never)).rejects.toThrow(
      /^units: /,
    )
    expect(await monthOf(limiter)).toMatchObject({ remaining: 3 })
    expect(await limiter.topUp('acme', good as never)).toMatchObject({ isRepeated: false })
  })
})
