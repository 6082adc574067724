// Where billing days meet other features, in memory and on Redis: what the day moves, bookings, warnings, leases, steps, and bad input.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Store,
  type Subject,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

const DAY = 86_400_000
/** 2026-01-20T12:00Z */
const START_MS = Date.UTC(2026, 0, 20, 12)

const clock = { now: START_MS }
const now = (): number => clock.now
beforeEach(() => {
  clock.now = START_MS
})

const limiters: Limiter[] = []
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})

const stores: readonly [string, () => Store][] = [
  ['memory', () => memoryStore({ now })],
  ['a store that is not atomic', () => asyncStore({ atomic: false, testClock: now }, memoryStore({ now }))],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
]

describe.each(stores)('%s', (_, newStore) => {
  function make(options: object, store = newStore()): Limiter {
    const more = { store, warnings: false, deadlineMs: 30_000, onStoreFailure: 'closed', denials: false }
    const limiter = createLimiter({ ...more, ...options } as unknown as LimiterOptions)
    limiters.push(limiter)
    return limiter
  }

  const acme = (anchor: Subject['anchor'], more: object = {}): Subject => ({ id: 'acme', anchor, ...more })
  const limitOf = ({ limits }: Decision, name = 'month'): object | undefined =>
    limits.find((limit) => limit.name === name)
  const endsAt = ({ limits }: Decision, name = 'month'): string => {
    const { resetMs = 0 } = limits.find((limit) => limit.name === name) ?? {}
    return new Date(clock.now + resetMs).toISOString()
  }

  test('a list names a subject twice: with one day it counts once, and with two it is refused', async () => {
    const limiter = make({ plans: { pro: '50/month' }, defaultPlan: 'pro' })
    const twice = await limiter.consume([acme('2026-01-05'), acme('2025-03-05')])
    expect(limitOf(twice)).toMatchObject({ used: 1 })
    expect(() => limiter.consume([acme('2026-01-05'), acme('2026-01-06')])).toThrow(
      'subjects: got one id twice, with two billing days, expected each id once',
    )
    expect(limitOf(await limiter.peek(acme('2026-01-05')))).toMatchObject({ used: 1 })
  })

  test('two months of one plan in two time zones each keep their end, also if the day is left out', async () => {
    const jp = { quota: 6, window: 'month', timeZone: 'Asia/Tokyo', name: 'jp' }
    const limiter = make({ limit: ['20/min', '10/month', jp, '9/d'] })
    await limiter.consume(acme('2026-01-25'), { cost: 6 })
    const ends = ['2026-01-25T00:00:00.000Z', '2026-01-24T15:00:00.000Z']
    for (const subject of [acme('2026-01-25'), { id: 'acme' }]) {
      const decision = await limiter.peek(subject)
      expect([endsAt(decision), endsAt(decision, 'jp')]).toEqual(ends)
    }
    clock.now = Date.UTC(2026, 0, 24, 16)
    const decision = await limiter.consume('acme')
    expect([decision.allowed, limitOf(decision), limitOf(decision, 'jp')]).toMatchObject([
      true,
      { used: 7 },
      { used: 1 },
    ])
  })

  test.each(['unlimited', 'blocked'])('a plan that is %s refuses a wrong day, too', async (pro) => {
    const limiter = make({ plans: { pro, free: '5/min' }, defaultPlan: 'free' })
    for (let again = 0; again < 2; again += 1) {
      expect((await limiter.consume(acme('2026-01-05', { plan: 'pro' }))).allowed).toBe(pro === 'unlimited')
      expect(() => limiter.consume(acme('2026-13-05', { plan: 'pro' }))).toThrow(
        "subject.anchor: got '2026-13-05'",
      )
    }
  })

  test('limits behind a month count alike with a day, with another and without one', async () => {
    const limits = ['50/month', { quota: 9, window: 'h', algorithm: 'fixed-window' }, '7/min']
    const limiter = make({ plans: { pro: { limits } }, defaultPlan: 'pro' })
    for (let used = 1; used <= 3; used += 1) {
      clock.now += 1000
      for (const [i, anchor] of [undefined, '2025-12-31', undefined, '2026-01-05'].entries()) {
        const decision = await limiter.consume({ id: `user-${i}`, anchor })
        expect(decision.limits.map((limit) => [limit.name, limit.used])).toEqual([
          ['month', used],
          ['hour', used],
          ['minute', used],
        ])
      }
    }
  })

  test('months begin on the day of the subject, in its time zone, and on the last day of a shorter month', async () => {
    const limiter = make({ limit: '2/month' })
    const subject = acme('2025-12-31', { timeZone: 'Europe/Berlin' })
    expect(endsAt(await limiter.consume(subject))).toBe('2026-01-30T23:00:00.000Z')
    clock.now = Date.UTC(2026, 1, 1)
    expect(endsAt(await limiter.consume(subject))).toBe('2026-02-27T23:00:00.000Z')
    clock.now = Date.UTC(2026, 2, 10)
    expect(endsAt(await limiter.consume(subject))).toBe('2026-03-30T22:00:00.000Z')
  })

  test('a moved day takes effect at the old end, and one short window with its share follows', async () => {
    const limiter = make({ limit: '31/month' })
    expect((await limiter.consume(acme(25), { cost: 31 })).allowed).toBe(true)
    // 25 January to 1 February would be a window by the new day: nothing comes back before the 25th.
    expect(await limiter.consume(acme(1))).toMatchObject({ allowed: false, retryAfterMs: 4.5 * DAY })
    clock.now = Date.UTC(2026, 0, 26)
    const short = await limiter.consume(acme(1))
    expect(limitOf(short)).toMatchObject({ quota: 7, used: 1, remaining: 6 })
    expect(endsAt(short)).toBe('2026-02-01T00:00:00.000Z')
    // Moving it once more changes nothing in this window.
    expect(limitOf(await limiter.consume(acme(28)))).toMatchObject({ quota: 7, remaining: 5 })
    clock.now = Date.UTC(2026, 1, 1)
    // 28 January to 28 February, of which 27 days of 31 are left: 27 units.
    expect(limitOf(await limiter.consume(acme(28)))).toMatchObject({ quota: 27, remaining: 26 })
    clock.now = Date.UTC(2026, 1, 28)
    expect(limitOf(await limiter.consume(acme(28)))).toMatchObject({ quota: 31, remaining: 30 })
  })

  test('another limit may make a client wait into a short month that its cost does not fit', async () => {
    const sixDays = { quota: 10, window: '6d', algorithm: 'fixed-window' }
    const limiter = make({ limit: ['31/month', sixDays] })
    await limiter.consume(acme(25), { cost: 10 })
    // Six days later it is the 26th, in a window of seven units until the first.
    expect((await limiter.consume(acme(1), { cost: 7 })).retryAfterMs).toBe(6 * DAY)
    expect((await limiter.peek(acme(1), { cost: 8 })).retryAfterMs).toBe(11.5 * DAY)
    expect((await limiter.consume(acme(1), { cost: 8 })).retryAfterMs).toBe(11.5 * DAY)
    clock.now += 11.5 * DAY
    expect((await limiter.consume(acme(1), { cost: 8 })).allowed).toBe(true)
  })

  test('years and months side by side, and limits with an anchor of their own', async () => {
    const own = { quota: 9, window: 'month', anchor: 20, name: 'own' }
    const limiter = make({ limit: ['100/year', '10/month', own, '5/d'] })
    const decision = await limiter.consume(acme('2024-02-29T06:00'))
    expect(endsAt(decision, 'year')).toBe('2026-02-28T06:00:00.000Z')
    expect(endsAt(decision)).toBe('2026-01-29T06:00:00.000Z')
    expect(endsAt(decision, 'own')).toBe('2026-02-20T00:00:00.000Z')
    clock.now = Date.UTC(2026, 1, 10)
    const later = await limiter.consume(acme('2024-02-29T06:00'))
    expect([limitOf(later, 'year'), limitOf(later)]).toMatchObject([{ remaining: 98 }, { remaining: 9 }])
  })

  test('who has no day any more counts on in the window that it has', async () => {
    const limiter = make({ limit: '3/month' })
    await limiter.consume(acme(25), { cost: 2 })
    expect(limitOf(await limiter.peek('acme'))).toMatchObject({ used: 2, resetMs: 4.5 * DAY })
    expect((await limiter.consume('acme', { cost: 2 })).allowed).toBe(false)
    expect(limitOf(await limiter.consume({ id: 'acme', anchor: null, timeZone: null }))).toMatchObject({
      used: 3,
    })
    clock.now = Date.UTC(2026, 0, 26)
    // Six of 31 days are left until 1 February.
    expect(limitOf(await limiter.consume('acme'))).toMatchObject({ quota: 1, remaining: 0 })
  })

  test('what was used before the first billing day counts until the end of its month', async () => {
    const limiter = make({ limit: '3/month' })
    await limiter.consume('acme', { cost: 2 })
    expect(limitOf(await limiter.consume(acme(25)))).toMatchObject({ used: 3, resetMs: 11.5 * DAY })
    expect((await limiter.consume(acme(25))).allowed).toBe(false)
  })

  test('bookings, with the day or by the id alone', async () => {
    const limiter = make({ limit: '3/month' })
    const topUp = { limit: 'month', units: 2, for: '100d', key: 'order-1' } as const
    await limiter.topUp('acme', topUp)
    expect(limitOf(await limiter.consume(acme(25), { cost: 4 }))).toMatchObject({ remaining: 1, toppedUp: 1 })
    expect(await limiter.topUp(acme(25), topUp)).toMatchObject({ isRepeated: true, limit: { remaining: 1 } })
    await limiter.topUp('acme', { ...topUp, key: 'order-2' })
    expect(limitOf(await limiter.peek(acme(25)))).toMatchObject({ remaining: 3, toppedUp: 3 })
    expect(await limiter.renew('acme', { limit: 'month', key: 'paid' })).toMatchObject({
      limit: { remaining: 6, used: 0 },
    })
    expect(endsAt(await limiter.consume(acme(28)))).toBe('2026-01-28T00:00:00.000Z')
  })

  test('a group, a stacked limit, own limits, several subjects and an override have it, too', async () => {
    const limiter = make({ plans: { pro: '9/month' }, defaultPlan: 'pro' })
    const subject = acme(25)
    const exports = limiter.scope({ group: 'exports', limit: '5/month', stacked: { all: '7/month' } })
    const decision = await exports.consume(subject)
    expect(decision.limits.map(({ resetMs }) => resetMs)).toEqual([4.5 * DAY, 4.5 * DAY])
    const both = await limiter.consume([subject, { id: 'other', anchor: 1 }])
    expect(both.limits.map(({ resetMs }) => resetMs)).toEqual([4.5 * DAY, 11.5 * DAY])
    const own = await limiter.consume(acme(25, { id: 'own', limits: '4/month' }))
    expect(limitOf(own)).toMatchObject({ remaining: 3, resetMs: 4.5 * DAY })
  })

  test('refunds, reservations and requests in flight', async () => {
    const limiter = make({ limit: ['5/month', '2 concurrent'] })
    const decision = await limiter.consume(acme(25), { cost: 3 })
    expect(await limiter.refund(decision)).toBe(true)
    expect(limitOf(await limiter.peek(acme(25)))).toMatchObject({ used: 0 })
    const reservation = await limiter.reserve(acme(25), { cost: 2, for: '1min' })
    await reservation.commit(1)
    expect(limitOf(await limiter.peek(acme(25)))).toMatchObject({ used: 1, resetMs: 4.5 * DAY })
  })

  test('a warning comes once a window, and in a short one by its share', async () => {
    const limiter = make({ plans: { pro: { limits: '20/month', warnAt: [0.5] } }, defaultPlan: 'pro' })
    const heard: unknown[] = []
    limiter.on('nearLimit', ({ used, quota }) => void heard.push([used, quota]))
    await limiter.consume(acme(25), { cost: 12 })
    await limiter.consume(acme(25))
    await eventually(() => expect(heard).toEqual([[12, 20]]))
    clock.now = Date.UTC(2026, 0, 25, 12)
    await limiter.consume(acme(25), { cost: 10 })
    await eventually(() =>
      expect(heard).toEqual([
        [12, 20],
        [10, 20],
      ]),
    )
  })

  test.each([
    [
      '2026-02-30',
      "got '2026-02-30', expected a date such as '2026-01-31', without a time zone, or a day of the month as a number from 1 to 31",
    ],
    [0, 'got 0, expected a date'],
    [32, 'got 32, expected a date'],
    [1.5, 'got 1.5, expected a date'],
    ['15', "got '15', expected a date"],
    ['#15', "got '#15', expected a date"],
    [new Date(Number.NaN), 'expected a date'],
    [{}, 'got an empty object, expected a date'],
    ['', "got '', expected a date"],
    [true, 'got true, expected a date'],
  ])('an anchor of %p is refused: %s', async (anchor, message) => {
    const limiter = make({ limit: '5/month' })
    await limiter.consume(acme(15))
    const asked = async (): Promise<unknown> => limiter.consume(acme(anchor as never))
    const refused = expect.objectContaining({
      code: 'ERR_TOLLGATE_SUBJECT',
      message: expect.stringContaining(message),
    })
    await expect(asked).rejects.toThrow(refused as never)
    // Also where no limit begins on it.
    const other = make({ limit: '5/h' })
    await expect(async () => other.consume(acme(anchor as never))).rejects.toThrow('subject.anchor: ')
  })

  test('a day number for a year, and an unknown time zone are refused', async () => {
    const limiter = make({ limit: '5/year' })
    for (const day of [0, 15]) {
      await expect(async () => limiter.consume(acme(day))).rejects.toThrow(
        `subject.anchor: got ${day}, expected a date such as '2026-01-31', since the subject has a limit of a year`,
      )
    }
    await expect(async () =>
      limiter.consume(acme('2026-01-15', { timeZone: 'Europe/Nowhere' })),
    ).rejects.toThrow("subject.timeZone: got 'Europe/Nowhere', expected a time zone such as 'Europe/Berlin'")
  })
})

test('with leases', async () => {
  const store = redisStore(sharedRedis(), { prefix: testPrefix(), now })
  const options = { deadlineMs: 30_000, denials: false, warnings: false } as const
  const limiter = createLimiter({
    ...{ ...options, store, defaultPlan: 'pro' },
    plans: { pro: { limits: '300/month', lease: { maxShare: 0.5 } } },
  })
  limiters.push(limiter)
  let allowed = 0
  for (let i = 0; i < 400; i += 1) {
    const decision = await limiter.consume({ id: 'acme', anchor: i < 200 ? 25 : 28 })
    if (decision.allowed) allowed += 1
  }
  expect(allowed).toBe(300)
})

test('a store that does not know billing windows refuses the subject', async () => {
  const store = asyncStore({ billingDays: false }, memoryStore())
  const limiter = createLimiter({ limit: '5/month', store, warnings: false, deadlineMs: 30_000 })
  limiters.push(limiter)
  const asked = async (): Promise<unknown> => limiter.consume({ id: 'acme', anchor: 15 })
  await expect(asked).rejects.toThrow('subject.anchor: this store counts no billing days')
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true })
})
