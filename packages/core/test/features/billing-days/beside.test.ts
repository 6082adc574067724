// Units that are reserved, on lease or in places when a subject gets a billing day, or is asked for without it: they count all the same.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Reservation,
  type Store,
} from '../../../src/index.js'
import { billedSet } from '../../../src/plans/billed-set.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { LimitOutcome, Outcome, StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

const clock = { now: 0 }
const now = (): number => clock.now
beforeEach(() => {
  clock.now = Date.UTC(2026, 0, 20, 12)
})

const limiters: Limiter[] = []
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})

function make(store: Store, options: object): Limiter {
  const more = { store, warnings: false, deadlineMs: 30_000, denials: false }
  const limiter = createLimiter({ ...more, ...options } as LimiterOptions)
  limiters.push(limiter)
  return limiter
}

const plain = { id: 'acme' }
const billed = { id: 'acme', anchor: 25 }
const used = async (limiter: Limiter, subject: object): Promise<object | undefined> =>
  (await limiter.usageOf(subject as never, { limit: 'month' })).running

const stores: readonly [string, () => Store][] = [
  ['memory', () => memoryStore({ now })],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
]

describe.each(stores)('%s', (_, newStore) => {
  const ways: [string, object, object][] = [
    ['without a day, then asked with it', plain, billed],
    ['with a day, then asked without it', billed, plain],
    ['with a day, then asked with another', billed, { id: 'acme', anchor: 3 }],
  ]

  test.each(ways)('reserved %s', async (_name, first, then) => {
    for (const before of [[], [first], [then]]) {
      const limiter = make(newStore(), { limit: '5/month' })
      for (const subject of before) await limiter.consume(subject as never)
      const left = 5 - before.length
      const reservation = (await limiter.reserve(first as never, { cost: left, for: '30min' })) as Reservation
      const denied = await limiter.consume(then as never)
      expect([before, denied.allowed, denied.limits[0]?.remaining]).toEqual([before, false, 0])
      expect(await reservation.commit(left - 1)).toBe(left - 1)
      expect((await limiter.consume(then as never)).allowed).toBe(true)
      expect((await limiter.consume(first as never)).allowed).toBe(false)
      expect([await used(limiter, first), await used(limiter, then)]).toMatchObject([
        { used: 5 },
        { used: 5 },
      ])
    }
  })

  test.each(ways)(
    'a reservation that ends by itself, made %s, counts nowhere',
    async (_name, first, then) => {
      const limiter = make(newStore(), { limit: '5/month' })
      await limiter.reserve(first as never, { cost: 5, for: '1min' })
      clock.now += 61_000
      expect((await limiter.consume(then as never, { cost: 5 })).allowed).toBe(true)
      expect(await used(limiter, first)).toMatchObject({ used: 5 })
    },
  )

  test('what is committed is billed', async () => {
    const limiter = make(newStore(), { limit: { quota: 2, window: 'month', overage: true } })
    const reservation = (await limiter.reserve(plain, { cost: 3, for: '30min' })) as Reservation
    await limiter.consume(billed)
    await reservation.commit(3)
    expect(await used(limiter, billed)).toMatchObject({ used: 4, over: 2 })
    clock.now = Date.UTC(2026, 0, 26)
    expect((await limiter.usageOf(billed, { limit: 'month' })).closed).toMatchObject({ used: 4, over: 2 })
  })

  test('a warning comes once for each window, also if the day is left out', async () => {
    const limiter = make(newStore(), { limit: { quota: 20, window: 'month', warnAt: [0.5] } })
    const heard: string[] = []
    limiter.on('nearLimit', ({ used: units }) => heard.push(`${new Date(clock.now).getUTCDate()}: ${units}`))
    const ask = async (subject: object, cost: number): Promise<void> => {
      await limiter.consume(subject as never, { cost })
      await eventually(() => limiter.stats().pending === 0)
    }
    await ask(billed, 1)
    await ask(plain, 9)
    clock.now = Date.UTC(2026, 0, 24)
    await ask(plain, 1)
    clock.now = Date.UTC(2026, 0, 26)
    await ask(billed, 18)
    // By the calendar, another month has begun.
    clock.now = Date.UTC(2026, 1, 2)
    await ask(plain, 1)
    expect(heard).toEqual(['20: 10', '26: 18'])
    clock.now = Date.UTC(2026, 1, 26)
    await ask(billed, 10)
    expect(heard).toEqual(['20: 10', '26: 18', '26: 10'])
  })

  test.each([false, true])(
    'a lease that nobody reports counts once, whoever asks next (first with the day: %s)',
    async (isBilled) => {
      const store = newStore()
      const { set } = compilePlan('pro', '9/month', 'plans.pro')
      const sets = [set as LimitSet, billedSet(set as LimitSet, { anchor: 25 })]
      const [first, then] = (isBilled ? sets.toReversed() : sets) as [LimitSet, LimitSet]
      const ask = async (request: object, own: LimitSet, cost: number): Promise<LimitOutcome | undefined> => {
        const parts = [{ key: 'acme', set: own, cost }]
        const [outcome] = await store.consume([
          { shard: 0, grant: 'all', parts, ...request } as unknown as StoreRequest,
        ])
        return (outcome as Outcome).limits[0]
      }
      const wish = { id: 'lease-000001', most: 4, least: 1, share: 1, lengthUs: 1_000_000, lagUs: 0 }
      expect(await ask({ grant: 'lease', order: { reports: [], wish } }, first, 1)).toMatchObject({
        granted: 4,
      })
      clock.now += 2000
      const left: (number | undefined)[] = []
      for (const own of [then, first, then, first]) left.push((await ask({}, own, 1))?.remaining)
      expect(left).toEqual([4, 3, 2, 1])
      await store.close?.()
    },
  )

  test('a place in the next month counts there, and once', async () => {
    clock.now = Date.UTC(2026, 0, 31, 23, 59, 59, 500)
    const plans = { waits: { limits: ['4/month'], wait: { maxDelay: 2000 } }, more: { limits: ['6/month'] } }
    const limiter = make(newStore(), { plans, defaultPlan: 'waits' })
    await limiter.consume({ id: 'acme', plan: 'waits' }, { cost: 4 })
    const placed = limiter.consume({ id: 'acme', plan: 'waits' }, { cost: 4 })
    const other = { id: 'acme', plan: 'more', anchor: 1 }
    const waiting = { id: 'acme', plan: 'waits', anchor: 1 }
    // Until the place has the month, it is free again in half a second.
    await eventually(async () => ((await limiter.peek(waiting)).limits[0]?.resetMs ?? 0) > 500)
    clock.now += 800
    const { allowed } = await limiter.consume(other, { cost: 3 })
    expect([allowed, (await placed).allowed]).toEqual([false, true])
    // The place is over: its units enter the window, for requests with and without the day.
    clock.now += 60_000
    for (const subject of [other, { id: 'acme', plan: 'more' }])
      expect((await limiter.consume(subject)).allowed).toBe(true)
    expect([await used(limiter, other), await used(limiter, { id: 'acme', plan: 'more' })]).toMatchObject([
      { used: 6 },
      { used: 6 },
    ])
    expect((await limiter.consume(other)).allowed).toBe(false)
  })
})

test('leases of two processes, one of which passes a day', async () => {
  const prefix = testPrefix()
  const plans = { pro: { limits: '100/month', lease: { maxShare: 0.5 } } }
  const [one, two] = [sharedRedis(), redisOfAnotherProcess()].map((client) =>
    make(redisStore(client, { prefix }), { plans, defaultPlan: 'pro' }),
  ) as [Limiter, Limiter]
  let admitted = 0
  const ask = async (limiter: Limiter, subject: object, times: number): Promise<void> => {
    for (let i = 0; i < times; i += 1) if ((await limiter.consume(subject as never)).allowed) admitted += 1
  }
  await ask(one, plain, 30)
  expect(one.stats().leases.held).toBeGreaterThan(0)
  for (let i = 0; i < 5; i += 1) {
    await ask(two, billed, 30)
    await ask(one, plain, 12)
  }
  expect(admitted).toBeLessThanOrEqual(100)
  const month = await used(two, billed)
  expect(month).toMatchObject({ over: 0 })
})
