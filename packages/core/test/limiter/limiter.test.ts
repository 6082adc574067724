import { createLimiter, memoryStore, type Decision, type Limiter } from '../../src/index.js'
import { benches, closeBenches, START_MS } from '../support/benches.js'

afterAll(closeBenches)

const plans = { free: '5/min', pro: ['10/s burst 20', '100/min'], internal: 'unlimited' } as const

describe('which plan applies', () => {
  const seen = (limiter: Limiter): unknown[] => {
    const events: unknown[] = []
    limiter.on('unknownPlan', (subject, used) => events.push([subject.plan, used]))
    return events
  }

  test('a subject with an unknown plan gets the default plan and an event; one without a plan, no event', async () => {
    const limiter = createLimiter({ plans, defaultPlan: 'pro', warnings: false })
    const events = seen(limiter)
    expect((await limiter.consume({ id: 'a', plan: 'gold' })).plan).toBe('pro')
    expect((await limiter.consume({ id: 'a' })).plan).toBe('pro')
    expect(events).toEqual([['gold', 'pro']])
  })

  test('without a default plan, the most restrictive one applies, with an event, never unlimited', async () => {
    const limiter = createLimiter({
      plans: { big: '1000/s', internal: 'unlimited', small: '1000/h', middle: '1000/min' },
      warnings: false,
    })
    const events = seen(limiter)
    expect((await limiter.consume({ id: 'a', plan: 'gold' })).plan).toBe('small')
    expect((await limiter.consume('a')).plan).toBe('small')
    expect(events).toEqual([
      ['gold', 'small'],
      [undefined, 'small'],
    ])
  })

  test('an unlimited plan is answered at once and counts nothing', async () => {
    const limiter = createLimiter({ plans })
    const decision = limiter.consume({ id: 'ops', plan: 'internal' }, { cost: 1e9 })
    expect(decision).toEqual({
      allowed: true,
      subject: { id: 'ops', plan: 'internal' },
      plan: 'internal',
      cost: 1e9,
      limits: [],
      violated: [],
      retryAfterMs: 0,
      source: 'unlimited',
    })
  })

  test.each([undefined, null, '', {}, { id: '' }, { id: {} }, { id: 'a', plan: 5 }, [], true, Number.NaN])(
    'a subject of %p is refused by name',
    (subject) => {
      const limiter = createLimiter({ plans })
      expect(() => limiter.consume(subject as string)).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_SUBJECT' }),
      )
    },
  )

  test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2', null])(
    'a cost of %p is refused by name',
    (cost) => {
      const limiter = createLimiter({ plans })
      const consume = (): unknown => limiter.consume('a', { cost: cost as number })
      expect(consume).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_COST' }))
    },
  )

  test.each([
    [null, 'options'],
    [5, 'options'],
    ['5', 'options'],
    [[5], 'options'],
    [new Map([['cost', 5]]), 'options'],
    [{ costs: 5 }, 'costs'],
    [{ cost: 5, units: 5 }, 'units'],
  ])('options of consume or peek that are %p are refused by name, and nothing is taken', (options, path) => {
    const limiter = createLimiter({ plans, defaultPlan: 'free' })
    for (const decide of [limiter.consume, limiter.peek]) {
      expect(() => decide.call(limiter, 'a', options as never)).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
      )
    }
    expect(limiter.peek('a')).toMatchObject({ limits: [{ remaining: 5 }] })
  })

  test.each([
    [undefined, undefined, 'plans'],
    [null, undefined, 'plans'],
    [plans, null, 'options'],
    [plans, 'pro', 'options'],
    [plans, { plans: { free: '9/min' } }, 'plans'],
    [plans, { limit: '9/min' }, 'limit'],
    [plans, { defaultPlan: 'gold' }, 'defaultPlan'],
  ])('setPlans(%p, %p) is refused, and the plans stay as they were', async (given, options, path) => {
    const limiter = createLimiter({ plans: { only: '7/min' } })
    expect(() => limiter.setPlans(given as never, options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
    )
    expect((await limiter.consume('a')).plan).toBe('only')
  })
})

describe.each(benches)('on $store', (bench) => {
  const make = (): { limiter: Limiter; clock: { now: number } } => {
    const clock = { now: START_MS }
    return { limiter: bench.limiter({ plans, defaultPlan: 'free' }, clock), clock }
  }

  test('the memory store answers with a value, Redis with a promise', () => {
    const { limiter } = make()
    expect(limiter.consume('a') instanceof Promise).toBe(bench.store === 'redis')
  })

  test('a decision has all its fields', async () => {
    const { limiter } = make()
    const subject = { id: 'acme', plan: 'pro' }
    expect({ ...(await limiter.consume(subject, { cost: 15 })) }).toEqual({
      allowed: true,
      subject,
      plan: 'pro',
      cost: 15,
      violated: [],
      retryAfterMs: 0,
      source: 'store',
      limits: [
        { name: 'second', quota: 10, windowMs: 1000, used: 15, remaining: 5, resetMs: 100 },
        { name: 'minute', quota: 100, windowMs: 60_000, used: 15, remaining: 85, resetMs: 60_000 },
      ],
    })
    expect({ ...(await limiter.consume(subject, { cost: 6 })) }).toMatchObject({
      allowed: false,
      violated: ['second'],
      retryAfterMs: 100,
      reason: 'quota-exceeded',
    })
    expect(await limiter.consume(subject, { cost: 21 })).toMatchObject({
      allowed: false,
      violated: ['second'],
      retryAfterMs: null,
      reason: 'cost-exceeds-quota',
    })
  })

  test('peek takes nothing and is not an event', async () => {
    const { limiter } = make()
    const limited: Decision[] = []
    limiter.on('limited', (decision) => limited.push(decision))
    await limiter.consume('acme', { cost: 5 })
    expect(await limiter.peek('acme')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    expect(limited).toEqual([])
    const denied = await limiter.consume('acme')
    expect(limited).toEqual([denied])
  })

  test('a refund gives units back, once', async () => {
    const { limiter } = make()
    const decision = await limiter.consume('acme', { cost: 3 })
    expect([await limiter.refund(decision), await limiter.refund(decision)]).toEqual([true, false])
    expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(5)
  })

  test('a refund gives nothing back for a denial, a peek, or units that came back by themselves', async () => {
    const { limiter, clock } = make()
    const decision = await limiter.consume('acme', { cost: 4 })
    expect(await limiter.refund(await limiter.peek('acme'))).toBe(false)
    expect(await limiter.refund(await limiter.consume('acme', { cost: 2 }))).toBe(false)
    clock.now += 60_000
    await limiter.consume('acme', { cost: 2 })
    expect(await limiter.refund(decision)).toBe(false)
    expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(3)
  })

  test('a copy of a decision cannot be refunded: it does not know whether the original was', async () => {
    const { limiter } = make()
    const decision = await limiter.consume('acme')
    for (const copy of [{ ...decision }, new Proxy(decision, {}), Object.create(decision) as Decision]) {
      await expect(limiter.refund(copy)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_DECISION' })
    }
    await expect(limiter.refund(undefined as never)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_DECISION' })
  })

  test('reset forgets one subject', async () => {
    const { limiter } = make()
    await limiter.consume('acme', { cost: 5 })
    await limiter.consume('other', { cost: 5 })
    expect(await limiter.reset('acme')).toBe(true)
    expect((await limiter.consume('acme')).allowed).toBe(true)
    expect((await limiter.consume('other')).allowed).toBe(false)
  })

  test('reset says whether anything was there, in a scope and in all of them', async () => {
    const { limiter } = make()
    const search = limiter.scope({ group: 'search' })
    expect(await limiter.reset('acme')).toBe(false)
    await search.consume('acme')
    expect([await search.reset('acme'), await limiter.reset('acme')]).toEqual([true, false])
    await search.consume('acme')
    expect([await limiter.reset('acme'), await search.reset('acme')]).toEqual([true, false])
  })

  test('a month ends with the calendar, on the billing day in its time zone', async () => {
    const clock = { now: Date.parse('2026-02-27T12:00:00Z') }
    const limit = { quota: 2, window: 'month', anchor: 31, timeZone: 'America/New_York' } as const
    const limiter = bench.limiter({ limit }, clock)
    await limiter.consume('acme', { cost: 2 })
    // For New York, 28 February is the billing day of a month without a 31st; it begins at 05:00 UTC.
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, retryAfterMs: 17 * 3_600_000 })
    clock.now = Date.parse('2026-02-28T05:00:00Z')
    expect((await limiter.consume('acme', { cost: 2 })).allowed).toBe(true)
    // From then to 31 March 00:00 in New York, which is 04:00 UTC because of daylight saving time.
    const { retryAfterMs } = await limiter.consume('acme')
    expect(retryAfterMs).toBe(Date.parse('2026-03-31T04:00:00Z') - clock.now)
  })
})

test('a decision of another limiter is refused, and not changed', async () => {
  const [a, b] = [createLimiter({ limit: '5/min' }), createLimiter({ limit: '5/min' })]
  const decision = await a.consume('acme', { cost: 3 })
  await expect(b.refund(decision)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_DECISION' })
  await expect(b.settle(decision, 1)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_DECISION' })
  expect(await a.refund(decision)).toBe(true)
})

test('new plans keep the default plan if one has its name', async () => {
  const plans = { free: '9/min', trial: '2/min' } as const
  const limiter = createLimiter({ plans, defaultPlan: 'free', planOf: () => undefined })
  for (const options of [undefined, {}, { defaultPlan: undefined }]) {
    limiter.setPlans(plans, options as object)
    expect((await limiter.consume('acme')).plan).toBe('free')
  }
  expect(() => limiter.setPlans({ a: '1/min', b: '2/min' })).toThrow('defaultPlan')
  limiter.setPlans({ ...plans, pro: '99/min' }, { defaultPlan: 'pro' })
  limiter.setPlans({ ...plans, pro: '99/min' })
  expect((await limiter.consume('acme')).plan).toBe('pro')
})

test('two limiters on one store in memory: closing one leaves the counts of the other', async () => {
  const store = memoryStore()
  const [a, b] = ['a', 'b'].map((name) => createLimiter({ limit: '5/min', store, name })) as [
    Limiter,
    Limiter,
  ]
  await a.consume('acme')
  await Promise.all([b.close(), b.close()])
  expect((await a.peek('acme')).limits[0]?.remaining).toBe(4)
})

test.each(['IP', 1, {}])('a kind of %p is refused: it would mix addresses with tenants', (kind) => {
  const limiter = createLimiter({ limit: '5/min' })
  expect(() => limiter.consume({ id: 'acme', kind: kind as never })).toThrow('subject.kind')
})
