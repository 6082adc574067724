// Where overage, top-ups, billing days, rules and limits that observe meet. On memory and on Redis.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { clock, datedStores, on } from '../../support/dated-stores.js'
import { closesWithTest } from '../../support/faults.js'

afterAll(closeBenches)

describe.each(Object.entries(datedStores))('on %s', (_, makeStore) => {
  const limiterOf = (options: Partial<LimiterOptions>): Limiter => {
    const all = { store: makeStore(), denials: false, warnings: false, deadlineMs: 30_000, ...options }
    return closesWithTest(createLimiter(all as LimiterOptions))
  }

  test('a window that began while the limit only observed has not paid the units of top-ups again', async () => {
    on('2030-01-10')
    const enforced = { pro: { limits: [{ quota: 3, window: 'month' }] } }
    const limiter = limiterOf({ plans: enforced, defaultPlan: 'pro' })
    await limiter.topUp('acme', { limit: 'month', units: 5, for: '90d', key: 'order-1' })
    // 3 of the quota and 3 of the top-up: 2 are left.
    expect((await limiter.consume('acme', { cost: 6 })).allowed).toBe(true)
    on('2030-02-10')
    limiter.setPlans({ pro: { ...enforced.pro, mode: 'observe' } })
    await limiter.consume('acme')
    limiter.setPlans(enforced)
    expect((await limiter.peek('acme')).limits).toMatchObject([{ used: 1, remaining: 4, toppedUp: 2 }])
    expect((await limiter.consume('acme', { cost: 5 })).allowed).toBe(false)
    expect((await limiter.consume('acme', { cost: 4 })).allowed).toBe(true)
  })

  test.each(['none', 'override', 'scale'])(
    'with the rule %s, a month is kept for an invoice',
    async (rule) => {
      on('2030-01-02')
      const limiter = limiterOf({
        plans: { pro: { limits: { quota: 10, window: 'month', overage: true } } },
        defaultPlan: 'pro',
      })
      if (rule === 'override') await limiter.override('acme', { factor: 2, for: '100d' })
      if (rule === 'scale') await limiter.scale('pro', 2, { for: '100d' })
      await limiter.consume('acme', { cost: 25 })
      on('2030-02-20')
      const { closed } = await limiter.usageOf('acme', { limit: 'month' })
      expect(closed?.used).toBe(25)
    },
  )

  test('a short window, and February, are kept until the next month is over', async () => {
    const limiter = limiterOf({ limit: { quota: 3, window: 'month', overage: true } })
    const closed = async (subject: { id: string; anchor?: number }): Promise<unknown> =>
      (await limiter.usageOf(subject, { limit: 'month' })).closed
    on('2030-01-20')
    await limiter.consume({ id: 'moved', anchor: 25 })
    on('2030-01-26')
    await limiter.consume({ id: 'moved', anchor: 1 }, { cost: 5 })
    const short = { used: 5, over: 4, from: new Date('2030-01-25'), until: new Date('2030-02-01') }
    for (const day of ['2030-02-03', '2030-02-10', '2030-02-28']) {
      on(day)
      expect(await closed({ id: 'moved', anchor: 1 })).toEqual(short)
    }
    await limiter.consume({ id: 'moved', anchor: 1 })
    expect(await closed({ id: 'moved', anchor: 1 })).toEqual(short)
    on('2030-02-20')
    await limiter.consume('february', { cost: 5 })
    on('2030-03-30')
    expect(await closed({ id: 'february' })).toMatchObject({ used: 5, from: new Date('2030-02-01') })
  })

  test.each([undefined, 15, 30])(
    'with the billing day %s, an unused month ends what was closed',
    async (anchor) => {
      const limiter = limiterOf({ limit: { quota: 3, window: 'month', overage: true } })
      const subject = { id: 'acme', ...(anchor && { anchor }) }
      const closed = async (): Promise<number | undefined> =>
        (await limiter.usageOf(subject, { limit: 'month' })).closed?.used
      on('2030-01-31')
      await limiter.consume(subject, { cost: 5 })
      on(anchor === 30 ? '2030-03-02' : '2030-02-20')
      expect(await closed()).toBe(5)
      on(anchor === 15 ? '2030-03-16' : '2030-04-01')
      expect(await closed()).toBeUndefined()
      // Another month is written behind the one that is kept.
      await limiter.consume(subject, { cost: 4 })
      on('2030-05-01')
      expect(await closed()).toBe(4)
      await limiter.consume(subject)
      expect(await closed()).toBe(4)
      on('2030-06-16')
      expect(await closed()).toBe(anchor === 15 ? undefined : 1)
    },
  )

  test('two limits with overage of one window each say what exceeded their quota', async () => {
    on('2030-01-10')
    const month = { window: 'month', overage: true }
    const limit = [
      { ...month, quota: 3, name: 'included' },
      { ...month, quota: 10, name: 'tier2' },
    ]
    const limiter = limiterOf({ limit } as never)
    await limiter.consume('acme', { cost: 12 })
    on('2030-02-10')
    const over = async (): Promise<unknown[]> =>
      Promise.all(
        ['included', 'tier2'].map(
          async (name) => (await limiter.usageOf('acme', { limit: name })).closed?.over,
        ),
      )
    expect(await over()).toEqual([9, 2])
    await limiter.consume('acme')
    expect(await over()).toEqual([9, 2])
  })

  test('a cap beside overage says what is left of top-ups as overage does, and who never fits', async () => {
    on('2030-01-10')
    const limits = [
      { quota: 3, window: 'month', overage: true, name: 'included' },
      { quota: 10, window: 'month', name: 'cap' },
    ]
    const limiter = limiterOf({ plans: { pro: { limits } }, defaultPlan: 'pro' } as never)
    await limiter.topUp('acme', { limit: 'included', units: 5, for: '90d', key: 'order-1' })
    expect((await limiter.consume('acme', { cost: 6 })).limits).toMatchObject([
      { toppedUp: 2 },
      { toppedUp: 2, remaining: 9 },
    ])
    expect((await limiter.peek('acme', { cost: 13 })).retryAfterMs).toBeNull()
    const { retryAfterMs } = await limiter.peek('acme', { cost: 12 })
    clock.now += retryAfterMs as number
    expect(new Date(clock.now)).toEqual(new Date('2030-02-01'))
    expect((await limiter.consume('acme', { cost: 12 })).allowed).toBe(true)
    expect((await limiter.consume('acme')).allowed).toBe(false)
  })

  test('a renewal arms the warnings of all limits that begin afresh with it', async () => {
    on('2030-01-10')
    const limits = [
      { quota: 10, window: 'month', overage: true },
      { quota: 20, window: 'month', name: 'cap' },
    ]
    const limiter = limiterOf({ plans: { pro: { limits, warnAt: [0.5] } }, defaultPlan: 'pro' } as never)
    const warned: string[] = []
    limiter.on('nearLimit', (near) => warned.push(near.limit))
    await limiter.consume('acme', { cost: 12 })
    await eventually(() => expect(warned.toSorted()).toEqual(['cap', 'month']))
    await limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
    await limiter.consume('acme', { cost: 12 })
    await eventually(() => expect(warned.toSorted()).toEqual(['cap', 'cap', 'month', 'month']))
  })

  test('the first billing day keeps the calendar month that is over for its invoice', async () => {
    const limiter = limiterOf({ limit: { quota: 31, window: 'month', overage: true } })
    on('2030-01-10')
    await limiter.consume('acme', { cost: 40 })
    on('2030-02-05')
    const acme = { id: 'acme', anchor: 15 }
    const january = { used: 40, over: 9, from: new Date('2030-01-01'), until: new Date('2030-02-01') }
    const usage = async (): Promise<unknown> => limiter.usageOf(acme, { limit: 'month' })
    expect(await usage()).toMatchObject({ closed: january })
    // What is left until the day is a short month.
    expect((await limiter.consume(acme, { cost: 3 })).limits).toMatchObject([{ quota: 14, used: 3 }])
    expect(await usage()).toMatchObject({
      running: { used: 3, from: new Date('2030-02-01'), until: new Date('2030-02-15') },
      closed: january,
    })
    on('2030-02-20')
    expect(await usage()).toMatchObject({ closed: { used: 3, until: new Date('2030-02-15') } })
  })

  test('a calendar month that was used without overage is not billed, and cuts no month short', async () => {
    const month = { quota: 1000, window: 'month' } as const
    const plans = { plain: { limits: month }, pro: { limits: { ...month, overage: true } } }
    const limiter = limiterOf({ plans, defaultPlan: 'plain' })
    on('2030-01-10')
    await limiter.consume({ id: 'acme', plan: 'plain' }, { cost: 700 })
    on('2030-02-10')
    // Whether the month before is still in the store makes no difference.
    for (const id of ['acme', 'globex']) {
      const subject = { id, plan: 'pro', anchor: 20 }
      expect([id, (await limiter.consume(subject)).limits]).toMatchObject([id, [{ quota: 1000, used: 1 }]])
      const { running, closed } = await limiter.usageOf(subject, { limit: 'month' })
      const window = { used: 1, over: 0, from: new Date('2030-01-20'), until: new Date('2030-02-20') }
      expect([id, running, closed]).toEqual([id, window, undefined])
    }
  })

  test('no request gets a place in a short month that it does not fit', async () => {
    const limits = [{ quota: 10, window: 'month' }]
    const limiter = limiterOf({
      plans: { pro: { limits, wait: { maxDelay: '10s' } } },
      defaultPlan: 'pro',
    } as never)
    on('2030-01-20')
    await limiter.consume({ id: 'acme', anchor: 25 }, { cost: 10 })
    on('2030-01-24T23:59:55Z')
    // From the 25th to the 26th there is one unit.
    const { allowed, retryAfterMs } = await limiter.consume({ id: 'acme', anchor: 26 }, { cost: 5 })
    expect([allowed, retryAfterMs]).toEqual([false, 86_405_000])
  })

  test('each window is warned of once, also when the billing day was moved', async () => {
    const limits = [{ quota: 10, window: 'month' }]
    const limiter = limiterOf({ plans: { pro: { limits, warnAt: [0.5] } }, defaultPlan: 'pro' } as never)
    const heard: string[] = []
    limiter.on(
      'nearLimit',
      ({ used }) => void heard.push(`${used} on ${new Date(clock.now).toJSON().slice(0, 10)}`),
    )
    const use = async (date: string, anchor: number, cost: number): Promise<void> => {
      on(date)
      await limiter.consume({ id: 'acme', anchor }, { cost })
      // The mark is made behind the answer.
      await limiter.peek('other')
    }
    await use('2030-01-20', 25, 1)
    // Moved before the warning. This window still ends on the 25th.
    await use('2030-01-21', 23, 5)
    await eventually(() => expect(heard).toEqual(['6 on 2030-01-21']))
    await use('2030-01-24', 23, 1)
    await use('2030-01-24', 1, 1)
    // A short window, of 3 units.
    await use('2030-01-26', 1, 2)
    await eventually(() => expect(heard.slice(1)).toEqual(['2 on 2030-01-26']))
    await use('2030-02-01', 1, 1)
    await use('2030-02-10', 15, 5)
    await eventually(() => expect(heard.slice(2)).toEqual(['6 on 2030-02-10']))
    await use('2030-03-02', 15, 3)
    await eventually(() => expect(heard.slice(3)).toEqual(['3 on 2030-03-02']))
  })

  test('with an override, a watched limit counts apart for subjects with a billing day, too', async () => {
    on('2030-02-10')
    const watched = { limits: { quota: 10, window: 'month', watch: 5 } }
    const limiter = limiterOf({ plans: { watched, plain: '10/month' }, defaultPlan: 'plain' } as never)
    await limiter.override('acme', { factor: 2, for: '20d' })
    await limiter.consume({ id: 'acme', plan: 'plain', timeZone: 'Europe/Berlin' }, { cost: 9 })
    const { observed } = await limiter.consume({ id: 'acme', plan: 'watched' })
    expect(observed).toMatchObject([{ used: 1, quota: 10 }])
  })

  test.each(['month', '30d'])('what a top-up has paid in a window of %s is never billed', async (window) => {
    on('2030-01-02')
    const limit = { quota: 3, window, overage: true, name: 'm', algorithm: 'fixed-window' } as const
    const limiter = limiterOf({ limit })
    await limiter.topUp('acme', { limit: 'm', units: 5, for: '2d', key: 'order-1' })
    on('2030-01-03T12:00:00Z')
    await limiter.consume('acme', { cost: 8 })
    for (const day of [
      '2030-01-31',
      '2030-02-01T11:00:00Z',
      '2030-02-01T13:00:00Z',
      '2030-02-03',
      '2030-02-27',
    ]) {
      on(day)
      const { running, closed } = await limiter.usageOf('acme', { limit: 'm' })
      expect([day, running?.over ?? 0, closed?.over ?? 0]).toEqual([day, 0, 0])
    }
  })

  test.each([{ id: 'a', anchor: 15 }, { id: 'b' }])(
    'months of two time zones, of which one observes, give $id no units when the plan changes',
    async (acme) => {
      on('2030-01-20')
      const tried = {
        quota: 5,
        window: 'month',
        timeZone: 'America/New_York',
        mode: 'observe',
        name: 'tried',
      }
      const month = { quota: 10, window: 'month' }
      const plans = { trial: { limits: [tried, month] }, pro: { limits: [month] } } as never
      const limiter = limiterOf({ plans, defaultPlan: 'pro' })
      expect((await limiter.consume({ ...acme, plan: 'trial' }, { cost: 10 })).allowed).toBe(true)
      expect((await limiter.consume({ ...acme, plan: 'pro' })).allowed).toBe(false)
    },
  )
})

test.each(['none', 'override', 'scale'])(
  'with the rule %s, Redis keeps a month for another month, and not longer',
  async (rule) => {
    const prefix = testPrefix()
    const limiter = createLimiter({
      plans: { pro: { limits: { quota: 10, window: 'month', overage: true } } },
      defaultPlan: 'pro',
      store: redisStore(sharedRedis(), { prefix }),
      warnings: false,
      deadlineMs: 30_000,
    })
    closesWithTest(limiter)
    if (rule === 'override') await limiter.override('acme', { factor: 2, for: '100d' })
    if (rule === 'scale') await limiter.scale('pro', 2, { for: '100d' })
    await limiter.consume('acme', { cost: 25 })
    const days = (await sharedRedis().pttl(`${prefix}/acme`)) / 86_400_000
    expect(days).toBeGreaterThan(2 * 28 - 0.1)
    expect(days).toBeLessThan(2 * 31 + 0.1)
  },
)
