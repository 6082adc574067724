// Where a closed window meets other features: a cap beside it, windows that were given back or left out, first billing days, clocks that
// go back, late charges, top-ups and hours. The same on memory and on Redis.
import { createLimiter, type Limiter, type Store, type Subject } from '../../../src/index.js'
import { LocalLimiter } from '../../../src/failure/local/local-limiter.js'
import { usageOf } from '../../../src/failure/local/owed-levels.js'
import { createLimitSet } from '../../../src/plans/limit/limit.js'
import type { ChargeRequest, Outcome, StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches } from '../../support/benches.js'
import { clock, datedStores, on } from '../../support/dated-stores.js'
import { closesWithTest } from '../../support/faults.js'

afterAll(closeBenches)

const billed = (quota: number, more: object = {}): object => ({
  quota,
  window: 'month',
  overage: true,
  ...more,
})
const plans = {
  pro: { limits: billed(10) },
  big: '400/month',
  free: '5/month',
  minute: '1000/min',
  capped: [billed(6), { quota: 15, window: 'month', name: 'cap' }],
  'cap-first': [{ quota: 15, window: 'month', name: 'cap' }, billed(6)],
  yearly: { limits: { quota: 10, window: 'year', overage: true } },
  'big-year': '400/year',
}
type PlanName = keyof typeof plans

describe.each(Object.entries(datedStores))('on %s', (_, makeStore) => {
  const make = (options: object = {}): { readonly limiter: Limiter; readonly store: Store } => {
    const store = makeStore()
    const more = { plans, defaultPlan: 'free', store, warnings: false, denials: false, deadlineMs: 30_000 }
    const limiter = createLimiter({ ...more, ...options } as never)
    closesWithTest(limiter)
    return { limiter, store }
  }
  const as = (plan: PlanName, anchor?: number): Subject =>
    ({ id: 'acme', plan, ...(anchor && { anchor }) }) as never
  const closedOf = async (limiter: Limiter, subject: Subject, limit = 'month'): Promise<unknown> => {
    const { closed } = await limiter.usageOf(subject, { limit })
    return closed && [closed.used, closed.over, closed.from.toISOString().slice(0, 10)]
  }

  test.each<PlanName>(['capped', 'cap-first'])(
    'a cap in the plan %s does not pay what exceeds the quota',
    async (plan) => {
      const { limiter } = make()
      on('2026-01-20')
      await limiter.consume(as(plan), { cost: 8 })
      on('2026-02-03')
      expect(await closedOf(limiter, as(plan))).toEqual([8, 2, '2026-01-01'])
      await limiter.consume(as(plan))
      expect(await closedOf(limiter, as(plan))).toEqual([8, 2, '2026-01-01'])
    },
  )

  test.each<PlanName>(['capped', 'cap-first', 'free', 'big'])(
    'the first billing day, together with the plan %s, keeps the month before for the invoice',
    async (plan) => {
      const { limiter } = make()
      on('2027-01-15')
      const before = plan === 'free' || plan === 'big' ? 'pro' : plan
      await limiter.consume(as(before), { cost: 12 })
      on('2027-02-03')
      const closed = [12, before === 'pro' ? 2 : 6, '2027-01-01']
      expect(await closedOf(limiter, as(plan, 5))).toEqual(closed)
      await limiter.consume(as(plan, 5))
      expect(await closedOf(limiter, as(plan, 5))).toEqual(closed)
      // Until the 5th, all limits of the month count in the same short one.
      const { limits } = await limiter.peek(as(plan, 5))
      expect(new Set(limits.map(({ resetMs }) => resetMs)).size).toBe(1)
      on('2027-02-06')
      await limiter.consume(as('big', 5))
      on('2027-03-06')
      expect(await closedOf(limiter, as('big', 5))).toBeUndefined()
    },
  )

  test('a window that no request used with overage is not billed, though the one before left a trace', async () => {
    const minute = { window: 'min', algorithm: 'fixed-window' }
    const both = { pro: { limits: { quota: 2, overage: true, ...minute } }, free: { quota: 3, ...minute } }
    const { limiter } = make({ plans: both })
    const [pro, free] = [as('pro'), as('free')]
    const limit = 'minute'
    on('2026-01-20')
    await limiter.refund(await limiter.consume(pro))
    clock.now += 30_000
    await limiter.consume(free, { cost: 3 })
    await limiter.penalize(free, { limit, units: 20, key: 'abuse' })
    expect(await limiter.usageOf(free, { limit })).toMatchObject({ running: { used: 23, over: 0 } })
    clock.now += 60_000
    expect((await limiter.usageOf(pro, { limit })).closed).toBeUndefined()
  })

  test.each<[string, string, PlanName, string, string, string]>([
    ['on a plan without overage', '2030-01-10', 'free', '5d', '2030-01-11', '2030-02-15'],
    ['in a short month', '2030-02-01', 'pro', '1h', '2030-02-01', '2030-03-30'],
  ])(
    'a top-up that was booked %s pays for as long as its month is billed',
    async (_name, booked, plan, length, used, asked) => {
      const { limiter } = make()
      on(booked)
      await limiter.topUp(as(plan), { limit: 'month', units: 10, for: length, key: 'order-1' })
      on(used)
      await limiter.consume(as('pro'), { cost: 20 })
      expect((await limiter.usageOf(as('pro'), { limit: 'month' })).running).toMatchObject({
        used: 20,
        over: 0,
      })
      on(asked)
      expect((await limiter.usageOf(as('pro'), { limit: 'month' })).closed).toMatchObject({
        used: 20,
        over: 0,
      })
    },
  )

  test('a month in which all units went back, or that ended long ago, bills nothing that comes later', async () => {
    for (const [plan, next, limit] of [
      ['pro', 'big', 'month'],
      ['yearly', 'big-year', 'year'],
    ] as const) {
      const { limiter } = make()
      on('2026-01-20')
      await limiter.refund(await limiter.consume(as(plan), { cost: 3 }))
      on(limit === 'month' ? '2026-02-03' : '2027-02-03')
      await limiter.consume(as(next), { cost: 30 })
      on(limit === 'month' ? '2026-03-02' : '2028-03-02')
      expect(await closedOf(limiter, as(next), limit)).toBeUndefined()
    }
    const { limiter } = make()
    on('2026-01-31T23:00:00Z')
    await limiter.consume(as('pro'), { cost: 18 })
    on('2026-03-01')
    await limiter.consume(as('big'), { cost: 100 })
    on('2026-04-01T12:00:00Z')
    await limiter.consume(as('big'))
    expect(await closedOf(limiter, as('big'))).toBeUndefined()
  })

  test('a plan that is scaled for a while, and a smaller plan at the end of the month, do not raise the bill', async () => {
    const { limiter } = make()
    on('2026-01-13')
    await limiter.consume(as('pro'), { cost: 9 })
    const lift = await limiter.scale('pro', 0.5, { for: '2h' })
    expect((await limiter.consume(as('pro'))).limits[0]?.over).toBe(5)
    await lift.lift()
    on('2026-02-03')
    expect(await closedOf(limiter, as('pro'))).toEqual([10, 0, '2026-01-01'])
    await limiter.consume(as('pro'), { cost: 12 })
    await limiter.consume(as('capped'))
    on('2026-03-03')
    expect(await closedOf(limiter, as('pro'))).toEqual([13, 3, '2026-02-01'])
  })

  test('late charges and refunds on an earlier plan do not change by which quota the month of now is billed', async () => {
    const { limiter, store } = make()
    const asked = jest.spyOn(store, 'consume')
    on('2026-01-20')
    const first = await limiter.consume(as('pro'), { cost: 3 })
    await limiter.usageOf(as('pro'), { limit: 'month' })
    const [[request]] = asked.mock.lastCall as [[StoreRequest]]
    const chargeLate = async (): Promise<unknown> => {
      const used = [[{ units: 1, ageUs: (clock.now - Date.parse('2026-01-21')) * 1000 }]]
      const parts = [{ ...request.parts[0], used }]
      return store.consume([{ shard: 0, grant: 'force', parts } as unknown as ChargeRequest])
    }
    // February is on a plan that is not billed, and what comes late is of January's plan.
    on('2026-02-03')
    await limiter.consume(as('big'), { cost: 100 })
    await limiter.refund(first)
    await chargeLate()
    expect(await closedOf(limiter, as('pro'))).toEqual([4, 0, '2026-01-01'])
    on('2026-03-03')
    expect(await closedOf(limiter, as('pro'))).toBeUndefined()
    // March is billed, by the larger plan that covers it.
    await limiter.consume(as('pro'), { cost: 20 })
    const larger = await limiter.consume(as('big'))
    const used = [[{ units: 1, ageUs: (clock.now - Date.parse('2026-02-21')) * 1000 }]]
    const late = { shard: 0, grant: 'force', parts: [{ ...request.parts[0], used }] }
    await store.consume([late as unknown as ChargeRequest])
    on('2026-04-03')
    expect(await closedOf(limiter, as('pro'))).toEqual([21, 0, '2026-03-01'])
    // April is not covered by it, though units of March go back.
    await limiter.consume(as('pro'), { cost: 20 })
    await limiter.refund(larger)
    on('2026-05-03')
    expect(await closedOf(limiter, as('pro'))).toEqual([20, 10, '2026-04-01'])
  })

  test('a clock that goes back over the end of a month does not replace what was closed', async () => {
    const { limiter } = make()
    on('2026-01-20')
    await limiter.consume(as('pro'), { cost: 30 })
    on('2026-02-01T00:00:00.500Z')
    await limiter.consume(as('pro'))
    on('2026-01-31T23:59:59.900Z')
    await limiter.consume(as('pro'))
    on('2026-02-02')
    await limiter.consume(as('pro'))
    expect(await closedOf(limiter, as('pro'))).toEqual([30, 20, '2026-01-01'])
  })

  test('a short month is billed by its share for units that are charged late', async () => {
    const { limiter, store } = make()
    const asked = jest.spyOn(store, 'consume')
    on('2030-01-20')
    await limiter.consume(as('pro', 25))
    on('2030-01-26')
    // Seven of 31 days: three of ten units.
    await limiter.consume(as('pro', 1), { cost: 2 })
    on('2030-02-02')
    await limiter.usageOf(as('pro', 1), { limit: 'month' })
    const [[request]] = asked.mock.lastCall as [[StoreRequest]]
    const used = [[{ units: 5, ageUs: 2 * 86_400_000_000 }]]
    const parts = [{ ...request.parts[0], used }]
    await store.consume([{ shard: 0, grant: 'force', parts } as unknown as ChargeRequest])
    expect(await closedOf(limiter, as('pro', 1))).toEqual([7, 4, '2030-01-25'])
  })

  test('a top-up that was bought on a plan without overage pays for as long as the invoice can be written', async () => {
    const { limiter } = make()
    on('2026-06-05')
    await limiter.consume(as('pro'), { cost: 30 })
    await limiter.topUp(as('free'), { limit: 'month', units: 10, for: '10d', key: 'x' })
    await limiter.consume(as('free'))
    for (const day of ['2026-07-03', '2026-07-08', '2026-07-20', '2026-07-31T23:00:00Z']) {
      on(day)
      expect(await closedOf(limiter, as('pro'))).toEqual([31, 20, '2026-06-01'])
    }
  })

  test('an hour whose first request was refunded ends as long after the next one', async () => {
    const { limiter } = make({
      plans: undefined,
      defaultPlan: undefined,
      limit: { quota: 10, window: '1h', overage: true },
    })
    on('2026-01-20T10:12:00Z')
    const first = await limiter.consume('acme', { cost: 2 })
    on('2026-01-20T10:54:00Z')
    await limiter.refund(first)
    await limiter.consume('acme', { cost: 18 })
    for (const time of ['11:55', '12:10', '12:14', '12:50']) {
      on(`2026-01-20T${time}:00Z`)
      expect(await closedOf(limiter, 'acme' as never, 'hour')).toEqual([18, 8, '2026-01-20'])
    }
  })

  test('a client that another limit makes wait into a short month comes when it fits, at every answer', async () => {
    const twenty = { quota: 8, window: '20d', algorithm: 'fixed-window', name: 'w20' }
    const { limiter } = make({ plans: undefined, defaultPlan: undefined, limit: ['12/month', twenty] })
    const since = (anchor: string): Subject => ({ id: 'acme', anchor }) as never
    on('2026-04-22T03:00:00Z')
    await limiter.consume(since('2025-03-05'), { cost: 3 })
    await limiter.consume(since('2025-06-15'), { cost: 2 })
    const denied = await limiter.consume(since('2025-06-15'), { cost: 5 })
    expect((await limiter.peek(since('2025-06-15'), { cost: 5 })).retryAfterMs).toBe(denied.retryAfterMs)
    clock.now += denied.retryAfterMs as number
    expect((await limiter.consume(since('2025-06-15'), { cost: 5 })).allowed).toBe(true)
  })

  test('what a process lets in alone is charged with the month that it was in, also if more comes after it', async () => {
    const store = makeStore()
    const set = createLimitSet({ quota: 10, window: 'month', overage: true } as never)
    const local = new LocalLimiter(100, {
      nowMs: () => clock.now,
      behindMs: () => 0,
      elapsedUs: () => clock.now * 1000,
    })
    const ask = (cost: number): void => {
      const parts = [{ key: 'acme', set, cost }]
      local.consume({ shard: 0, parts, grant: 'all' } as never, parts as never)
    }
    on('2026-01-31T23:59:50Z')
    ask(8)
    clock.now += 5000
    ask(20)
    on('2026-02-01T00:00:01Z')
    ask(1)
    on('2026-02-01T00:00:09Z')
    for (const owed of local.takeOwed(() => true, 10)) {
      const { key, used } = owed
      const parts = [{ key, set: used.set, cost: 1, used: usageOf(owed, local.elapsedUs()) }]
      await store.consume([{ shard: 0, grant: 'force', parts } as unknown as ChargeRequest])
    }
    const entry = { kind: 'usage', id: '', says: '', limit: 0, units: 0, end: { at: 0 } }
    const asking = { shard: 0, grant: 'account', parts: [{ key: 'acme', set, cost: 1 }], entry }
    const [outcome] = await store.consume([asking as never])
    const { running, closed } = (outcome as Outcome).usage ?? {}
    expect([running?.units, closed?.units, closed?.over]).toEqual([1, 28, 18])
  })
})
