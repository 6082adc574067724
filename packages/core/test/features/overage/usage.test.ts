// What `usageOf` says: the window of now and the one before it, for invoices.
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
  type Subject,
} from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

const [HOUR, DAY] = [3_600_000, 86_400_000]
const clock = { now: 0 }
const now = (): number => clock.now
beforeEach(() => {
  clock.now = Date.UTC(2026, 0, 20, 12)
})

const limiters: Limiter[] = []
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})

function make(options: object, store: Store): Limiter {
  const more = { store, warnings: false, deadlineMs: 30_000, onStoreFailure: 'closed', denials: false }
  const limiter = createLimiter({ ...more, ...options } as unknown as LimiterOptions)
  limiters.push(limiter)
  return limiter
}

const MONTH = { quota: 5, window: 'month', overage: true } as const
const asked = { limit: 'month' } as const
const [JANUARY, FEBRUARY, MARCH] = [0, 1, 2].map((month) => new Date(Date.UTC(2026, month)))

const STORES: [string, () => Store][] = [
  ['memory', () => memoryStore({ now })],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
]

describe.each(STORES)('%s', (_, newStore) => {
  test('the running month, then the closed one, to the unit', async () => {
    const limiter = make({ limit: MONTH }, newStore())
    const january = { from: JANUARY, until: FEBRUARY }
    expect(await limiter.usageOf('acme', asked)).toEqual({
      ...{ limit: 'month', quota: 5 },
      running: { used: 0, over: 0, ...january },
    })
    await limiter.consume('acme', { cost: 4 })
    await limiter.consume('acme', { cost: 4 })
    expect(await limiter.usageOf('acme', asked)).toMatchObject({ running: { used: 8, over: 3, ...january } })
    clock.now = Date.UTC(2026, 1, 3)
    // Before anything is used in February, and after.
    const closed = { used: 8, over: 3, ...january }
    const february = { from: FEBRUARY, until: MARCH }
    expect(await limiter.usageOf('acme', asked)).toMatchObject({
      running: { used: 0, over: 0, ...february },
      closed,
    })
    const decision = await limiter.consume('acme', { cost: 6 })
    expect(await limiter.usageOf('acme', asked)).toMatchObject({
      running: { used: 6, over: 1, ...february },
      closed,
    })
    await limiter.refund(decision)
    expect(await limiter.usageOf('acme', asked)).toMatchObject({ running: { used: 0, over: 0 }, closed })
    // In March the latest month in which anything was counted is over, and so is its keeping.
    clock.now = Date.UTC(2026, 2, 20)
    expect((await limiter.usageOf('acme', asked)).closed).toBeUndefined()
  })

  test('a refund that comes in the next month leaves the closed one as it is', async () => {
    const limiter = make({ limit: MONTH }, newStore())
    const decision = await limiter.consume('acme', { cost: 9 })
    clock.now = Date.UTC(2026, 1, 3)
    await limiter.refund(decision)
    expect(await limiter.usageOf('acme', asked)).toMatchObject({
      running: { used: 0 },
      closed: { used: 9, over: 4 },
    })
  })

  test('top-ups are not over, penalties are used, and a renewal begins both again', async () => {
    const limiter = make({ limit: MONTH }, newStore())
    await limiter.topUp('acme', { limit: 'month', units: 2, for: '60d', key: '1' })
    await limiter.consume('acme', { cost: 6 })
    await limiter.penalize('acme', { limit: 'month', units: 3, key: '2' })
    expect(await limiter.usageOf('acme', asked)).toMatchObject({ running: { used: 9, over: 2 } })
    clock.now = Date.UTC(2026, 1, 3)
    await limiter.consume('acme')
    expect(await limiter.usageOf('acme', asked)).toMatchObject({
      running: { used: 1 },
      closed: { used: 9, over: 2 },
    })
    await limiter.renew('acme', { limit: 'month', key: '3' })
    expect(await limiter.usageOf('acme', asked)).toMatchObject({ running: { used: 0, over: 0 } })
  })

  test('beside a cap of the same window, what a top-up paid that has ended is not over', async () => {
    const limiter = make({ limit: [{ quota: 9, window: 'month', name: 'cap' }, MONTH] }, newStore())
    await limiter.topUp('acme', { limit: 'month', units: 2, for: '1d', key: '1' })
    await limiter.consume('acme', { cost: 9 })
    clock.now = Date.UTC(2026, 1, 3)
    expect(await limiter.usageOf('acme', asked)).toMatchObject({ closed: { used: 9, over: 2 } })
  })

  test('with a billing day that moves', async () => {
    const limiter = make({ limit: { ...MONTH, quota: 31 } }, newStore())
    const acme = (anchor: number): object => ({ id: 'acme', anchor })
    await limiter.consume(acme(25) as never, { cost: 40 })
    clock.now = Date.UTC(2026, 0, 26)
    await limiter.consume(acme(1) as never, { cost: 10 })
    const first = { from: new Date(Date.UTC(2025, 11, 25)), until: new Date(Date.UTC(2026, 0, 25)) }
    // Seven of 31 units until 1 February.
    expect(await limiter.usageOf(acme(1) as never, asked)).toMatchObject({
      running: { used: 10, over: 3, from: first.until, until: FEBRUARY },
      closed: { used: 40, over: 9, ...first },
    })
    clock.now = Date.UTC(2026, 1, 2)
    expect(await limiter.usageOf('acme', asked)).toMatchObject({
      closed: { used: 10, over: 3, from: first.until },
    })
  })

  test('a window that opens with the first request, a group, and a plan by name', async () => {
    const limiter = make(
      { plans: { pro: { limits: { quota: 2, window: 'h', overage: true } } }, defaultPlan: 'pro' },
      newStore(),
    )
    const hour = { limit: 'hour' } as const
    expect(await limiter.usageOf({ id: 'acme', plan: 'pro' }, hour)).toEqual({ limit: 'hour', quota: 2 })
    const begun = new Date(clock.now)
    await limiter.consume('acme', { cost: 3 })
    const window = { from: begun, until: new Date(clock.now + HOUR) }
    expect(await limiter.usageOf('acme', hour)).toEqual({
      ...{ limit: 'hour', quota: 2 },
      running: { used: 3, over: 1, ...window },
    })
    clock.now += HOUR
    expect(await limiter.usageOf('acme', hour)).toEqual({
      ...{ limit: 'hour', quota: 2 },
      closed: { used: 3, over: 1, ...window },
    })
    const exports = limiter.scope({ group: 'exports', limit: MONTH })
    await exports.consume('acme', { cost: 7 })
    expect(await exports.usageOf('acme', asked)).toMatchObject({ running: { used: 7, over: 2 } })
  })

  test('a limit that denies says its running window, and not the closed one', async () => {
    const limiter = make({ limit: '5/month' }, newStore())
    await limiter.consume('acme', { cost: 2 })
    expect(await limiter.usageOf('acme', asked)).toMatchObject({ running: { used: 2, over: 0 } })
    clock.now += 15 * DAY
    expect(await limiter.usageOf('acme', asked)).not.toHaveProperty('closed')
  })

  test('while an override takes the month away, the error names it', async () => {
    const limiter = make({ plans: { pro: ['9/min', MONTH] }, defaultPlan: 'pro' }, newStore())
    await limiter.override('acme', { limits: '5/min', for: '1h' })
    await expect(limiter.usageOf('acme', asked)).rejects.toThrow(
      "limit: got 'month', expected a limit of the plan 'pro', which an override changes now: 'minute'",
    )
    await limiter.override('acme', { limits: '5 concurrent', for: '1h' })
    await expect(limiter.usageOf('acme', asked)).rejects.toThrow(
      "the plan 'pro', which an override changes now, has no limit that counts in windows. Lift the override",
    )
  })

  test('what is refused', async () => {
    const limiter = make({ limit: ['5/month', '9/min'] }, newStore())
    const call = (options: unknown): Promise<unknown> => limiter.usageOf('acme', options as never)
    await expect(call({ limit: 'day' })).rejects.toThrow("limit: got 'day', expected")
    await expect(call({})).rejects.toThrow(
      "limit: got undefined, expected the name of a limit, such as 'month'",
    )
    await expect(call({ limit: 'month', key: '1' })).rejects.toThrow('key: there is no such option')
    await expect(call({ limit: 'minute' })).rejects.toThrow(
      "limit: 'minute' has no windows that begin and end",
    )
    await expect(limiter.usageOf('' as never, asked)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_SUBJECT' })
  })
})

describe.each(STORES)('a change of plan at the end of the month: %s', (_, newStore) => {
  const plans = {
    ...{ free: '3/month', pro: MONTH, big: '20/month', blocked: 'blocked', minute: '9/min' },
    basic: { limits: { ...MONTH, quota: 2 } },
    capped: { limits: [MONTH, { ...MONTH, quota: 7, name: 'more' }] },
  }
  const on = (plan: keyof typeof plans, more: object = {}): Subject => ({ id: 'acme', plan, ...more })
  const closedOf = async (limiter: Limiter, subject: Subject, limit = 'month'): Promise<unknown> =>
    (await limiter.usageOf(subject, { limit })).closed
  const january = { from: JANUARY, until: FEBRUARY }
  const inFebruary = (): void => {
    clock.now = Date.UTC(2026, 1, 3)
  }

  test.each(['free', 'basic', 'big', 'minute'] as const)(
    'the month on the plan before is billed by its quota, whatever comes first on %s',
    async (next) => {
      const limiter = make({ plans, defaultPlan: 'free' }, newStore())
      await limiter.consume(on('pro'), { cost: 8 })
      inFebruary()
      await limiter.consume(on(next))
      await limiter.consume(on(next))
      const closed = { used: 8, over: 3, ...january }
      expect(await closedOf(limiter, on('pro'))).toEqual(closed)
      // Without asking for the plan before, too.
      if (next !== 'minute') expect(await closedOf(limiter, on(next))).toEqual(closed)
      clock.now = Date.UTC(2026, 2, 1)
      await limiter.consume(on(next))
      // Of the months after it, those on a plan with overage are told.
      const february = { used: 2, over: 0, from: FEBRUARY, until: MARCH }
      expect(await closedOf(limiter, on('pro'))).toEqual(next === 'basic' ? february : undefined)
    },
  )

  test('a downgrade within the month is billed for what was used before it', async () => {
    const limiter = make({ plans, defaultPlan: 'free' }, newStore())
    await limiter.consume(on('pro'), { cost: 8 })
    expect((await limiter.consume(on('free'))).allowed).toBe(false)
    inFebruary()
    await limiter.consume(on('free'))
    expect(await closedOf(limiter, on('free'))).toEqual({ used: 8, over: 3, ...january })
  })

  test('a plan whose quota covers what was used leaves nothing to be billed', async () => {
    const limiter = make({ plans, defaultPlan: 'free' }, newStore())
    await limiter.consume(on('pro'), { cost: 8 })
    await limiter.consume(on('big'), { cost: 4 })
    inFebruary()
    await limiter.consume(on('big'))
    expect(await closedOf(limiter, on('big'))).toEqual({ used: 12, over: 0, ...january })
  })

  test('two limits with overage of one month, each by its quota', async () => {
    const limiter = make({ plans, defaultPlan: 'free' }, newStore())
    await limiter.consume(on('capped'), { cost: 8 })
    inFebruary()
    await limiter.consume(on('free'))
    expect(await closedOf(limiter, on('capped'))).toEqual({ used: 8, over: 3, ...january })
    expect(await closedOf(limiter, on('capped'), 'more')).toEqual({ used: 8, over: 1, ...january })
  })

  test('an override that ended with the month, and what a top-up paid', async () => {
    const limiter = make({ plans, defaultPlan: 'free' }, newStore())
    await limiter.override(on('pro'), { factor: 2, until: FEBRUARY })
    await limiter.topUp(on('pro'), { limit: 'month', units: 1, until: FEBRUARY, key: '1' })
    await limiter.consume(on('pro'), { cost: 13 })
    inFebruary()
    await limiter.consume(on('free'))
    expect(await closedOf(limiter, on('pro'))).toEqual({ used: 13, over: 2, ...january })
  })

  test('a customer with a billing day, whose month was short', async () => {
    const limiter = make({ plans, defaultPlan: 'free' }, newStore())
    await limiter.consume(on('pro', { anchor: 21 }), { cost: 8 })
    clock.now = Date.UTC(2026, 0, 22)
    await limiter.consume(on('pro', { anchor: 1 }), { cost: 4 })
    inFebruary()
    await limiter.consume(on('free', { anchor: 1 }))
    // Eleven of 31 days: two of five units.
    const closed = { used: 4, over: 2, from: new Date(Date.UTC(2026, 0, 21)), until: FEBRUARY }
    expect(await closedOf(limiter, on('free', { anchor: 1 }))).toEqual(closed)
    expect(await closedOf(limiter, on('pro', { anchor: 1 }))).toEqual(closed)
  })

  test('a renewal forgets what was used before it', async () => {
    const limiter = make({ plans, defaultPlan: 'free' }, newStore())
    await limiter.consume(on('pro'), { cost: 8 })
    await limiter.renew(on('pro'), { limit: 'month', key: '1' })
    await limiter.consume(on('free'), { cost: 2 })
    inFebruary()
    await limiter.consume(on('free'))
    expect(await closedOf(limiter, on('pro'))).toBeUndefined()
  })
})

test('asked by another process, and without a denial that is forgotten', async () => {
  const prefix = testPrefix()
  const [first, second] = [1, 2].map(() =>
    make({ limit: MONTH }, redisStore(redisOfAnotherProcess(), { prefix, now })),
  ) as [Limiter, Limiter]
  await Promise.all([1, 2, 3, 4].flatMap(() => [first.consume('acme'), second.consume('acme')]))
  expect(await second.usageOf('acme', asked)).toMatchObject({ running: { used: 8, over: 3 } })
})

test('a store that keeps no accounts refuses', async () => {
  const store = asyncStore({ accounts: false }, memoryStore())
  const limiter = make({ limit: '5/month' }, store)
  await expect(limiter.usageOf('acme', asked)).rejects.toThrow(
    'store: this store does not say what limits have counted',
  )
})
