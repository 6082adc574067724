// Limits that come with a subject, in place of a plan.
import { createLimiter, memoryStore, type Limiter, type Subject } from '../../src/index.js'
import { internalsOf } from '../../src/limiter/internals.js'
import { failingStore } from '../../src/testing.js'
import { benches, closeBenches, jointBenches, START_MS } from '../support/benches.js'
import { closesWithTest } from '../support/faults.js'
import { asyncStore } from '../support/stores.js'

afterAll(closeBenches)

const plans = { free: '5/min', pro: '100/min', staff: 'unlimited', gone: 'blocked' } as const

describe.each(jointBenches)('on $store', (bench) => {
  const make = (): Limiter => bench.limiter({ plans, defaultPlan: 'free' }, { now: START_MS })

  test('they hold at once, and their plan has a name of its own', async () => {
    const limiter = make()
    const decision = await limiter.consume({ id: 'acme', limits: ['4/min', '9/day'] }, { cost: 3 })
    expect(decision).toMatchObject({ allowed: true, plan: 'own-limits' })
    expect(decision.limits.map(({ name, quota, used }) => [name, quota, used])).toEqual([
      ['minute', 4, 3],
      ['day', 9, 3],
    ])
    const denied = await limiter.consume({ id: 'acme', limits: ['4/min', '9/day'] }, { cost: 2 })
    expect([denied.allowed, denied.violated]).toEqual([false, ['minute']])
    expect(await limiter.refund(decision)).toBe(true)
    expect((await limiter.peek({ id: 'acme', limits: '4/min' })).limits[0]?.remaining).toBe(4)
    expect(await limiter.settle(await limiter.consume({ id: 'acme', limits: '4/min' }), 4)).toBe(4)
    expect(
      (await limiter.peek({ id: 'acme', limits: { quota: 4, window: 'min' } })).limits[0]?.remaining,
    ).toBe(0)
  })

  test("'unlimited' counts nothing", async () => {
    const decision = await make().consume({ id: 'acme', limits: 'unlimited' }, { cost: 1e9 })
    expect(decision).toMatchObject({ allowed: true, plan: 'own-limits', source: 'unlimited', limits: [] })
  })

  test('beside subjects on plans: all must have room, in whichever order', async () => {
    const limiter = make()
    const tenant = (): Subject => ({ id: 'org', limits: ['3/min'] })
    const user = { id: 'user', plan: 'pro', label: 'user' }
    const first = await limiter.consume([tenant(), user], { cost: 2 })
    expect(first.limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['minute', 1],
      ['user.minute', 98],
    ])
    const second = await limiter.consume([user, tenant()], { cost: 2 })
    expect([second.allowed, second.violated]).toEqual([false, ['own-limits.minute']])
    expect((await limiter.peek(user)).limits[0]?.remaining).toBe(98)
  })

  test('in groups and with stacked limits, as with plans', async () => {
    const limiter = make()
    const acme = (): Subject => ({ id: 'acme', limits: '4/min' })
    const [group, own, stacked] = [
      limiter.scope({ group: 'search' }),
      limiter.scope({ group: 'report', limit: '2/min' }),
      limiter.scope({ stacked: { export: '3/h' } }),
    ]
    const quotas = async (place: Limiter | typeof group): Promise<unknown[]> =>
      (await place.consume(acme())).limits.map(({ name, quota, remaining }) => [name, quota, remaining])
    expect(await quotas(group)).toEqual([['minute', 4, 3]])
    expect(await quotas(own)).toEqual([['minute', 2, 1]])
    expect(await quotas(stacked)).toEqual([
      ['minute', 4, 3],
      ['export.hour', 3, 2],
    ])
    expect(await quotas(limiter)).toEqual([['minute', 4, 2]])
    expect([await limiter.reset(acme()), await limiter.reset(acme())]).toEqual([true, false])
  })
})

describe.each(benches)('with what limits can have, on $store', (bench) => {
  test('requests in flight', async () => {
    const limiter = bench.limiter({ plans, defaultPlan: 'free' }, { now: START_MS })
    const ask = async () => limiter.consume({ id: 'acme', limits: ['9/min', '1 concurrent'] })
    const [first, second] = [await ask(), await ask()]
    expect([first.allowed, second.allowed, second.violated]).toEqual([true, false, ['concurrent']])
    first.release()
    expect((await ask()).allowed).toBe(true)
  })

  test('reservations', async () => {
    const limiter = bench.limiter({ plans, defaultPlan: 'free' }, { now: START_MS })
    const acme = (): Subject => ({ id: 'acme', limits: ['9/min'] })
    const held = await limiter.reserve(acme(), { cost: 8, for: '1min' })
    expect((await limiter.peek(acme())).limits[0]?.remaining).toBe(1)
    expect([await held.commit(2), (await limiter.peek(acme())).limits[0]?.remaining]).toEqual([2, 7])
  })
})

describe('bad input', () => {
  const limiter = createLimiter({ plans, defaultPlan: 'free' })

  test.each<[given: unknown, message: string]>([
    ['40/mn', "subject.limits: got '40/mn', expected a limit such as"],
    [['9/h', '40/mn'], "subject.limits[1]: got '40/mn', expected"],
    [
      [{ quota: 0, window: 'min' }],
      'subject.limits[0].quota: got 0, expected a whole number of units from 1',
    ],
    [{ limits: '4/min' }, 'subject.limits.limits: there is no such option here'],
    [['4/min', '5/min'], "subject.limits[1]: got '5/min', which can never deny beside '4/min': remove it"],
    [
      ['4/min', '5/min burst 5'],
      "subject.limits[1].name: got 'minute', expected a name that no other limit of the plan has",
    ],
    [[], 'subject.limits: got an empty array, expected at least one limit'],
    ['', "subject.limits: got ''"],
    [7, 'subject.limits: got 7'],
    [[null], 'subject.limits[0]: got null'],
    [['unlimited', '4/min'], "subject.limits[0]: 'unlimited' is a plan by itself"],
    [
      'blocked',
      "subject.limits: got 'blocked', expected limits such as ['40/min'], or 'unlimited'; to block it",
    ],
    [Array(33).fill('4/min'), 'subject.limits: got a list of 33, expected at most 32 limits'],
    ['9'.repeat(1e6), 'subject.limits: got '],
  ])('%j', async (limits, message) => {
    const seen: unknown[] = []
    limiter.on('decision', (decision) => seen.push(decision))
    for (const how of ['consume', 'peek', 'consume'] as const) {
      expect(() => limiter[how]({ id: 'acme', limits: limits as never })).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_SUBJECT', message: expect.stringContaining(message) }),
      )
    }
    expect(seen).toEqual([])
  })

  test('promises, which nobody else will wait for', async () => {
    const unhandled = jest.fn()
    process.on('unhandledRejection', unhandled)
    const late = (): never => Promise.reject(new Error('never seen')) as never
    expect(() => limiter.consume({ id: 'acme', limits: late() })).toThrow('subject.limits: got a promise')
    expect(() => limiter.consume({ id: 'acme', limits: [late()] })).toThrow(
      'subject.limits[0]: got a promise',
    )
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })

  test('a plan beside limits says which to write', () => {
    expect(() => limiter.consume({ id: 'acme', plan: 'pro', limits: '4/min' })).toThrow(
      expect.objectContaining({
        code: 'ERR_TOLLGATE_SUBJECT',
        message:
          "subject.limits: the subject has the plan 'pro', too, and only one can apply: write only limits, or only plan",
      }),
    )
  })

  test('null, as a row of a database has it, is none', async () => {
    const row = { id: 'acme', plan: 'pro', limits: null }
    expect((await limiter.consume(row as never)).plan).toBe('pro')
    expect((await limiter.consume({ id: 'acme', plan: null, limits: '9/min' } as never)).plan).toBe(
      'own-limits',
    )
  })

  test('one id with different limits is refused, with equal ones it counts once', async () => {
    const of = (limits: string[]): Subject => ({ id: 'twice', limits })
    expect(() => limiter.consume([of(['4/min']), of(['5/min'])])).toThrow('subjects: got one id twice')
    expect((await limiter.consume([of(['4/min']), of(['4/min'])])).limits).toHaveLength(1)
  })

  test('what the store cannot count is refused at the request, and nothing is taken', async () => {
    const store = asyncStore({
      algorithms: ['sliding-window'],
      defaultAlgorithm: 'sliding-window',
      slots: false,
    })
    const own = createLimiter({ limit: '5/min', store })
    for (const [limits, message] of [
      ['4/s burst 9', "subject.limits: this store cannot count algorithm: 'token-bucket'"],
      [['4/min', '2 concurrent'], 'subject.limits: this store cannot count requests in flight'],
    ] as const) {
      expect(() => own.consume({ id: 'acme', limits })).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_SUBJECT', message: expect.stringContaining(message) }),
      )
    }
    expect((await own.peek({ id: 'acme', limits: '4/min' })).limits[0]?.remaining).toBe(4)
  })

  test('a plan cannot have their name', () => {
    expect(() => createLimiter({ plans: { 'own-limits': '5/min' } })).toThrow(
      'plans.own-limits: this name is reserved',
    )
  })
})

describe('what else knows of plans', () => {
  test.each([null, undefined])(
    'limits of %p that planOf answers are none, as those of a subject',
    async (limits) => {
      const limiter = createLimiter({ plans, defaultPlan: 'free', planOf: () => ({ limits }) })
      const failed = jest.fn()
      limiter.on('planError', failed)
      expect((await limiter.consume('acme')).plan).toBe('free')
      expect(failed).not.toHaveBeenCalled()
    },
  )

  test('planOf can answer limits, and they are remembered as plans are', async () => {
    const planOf = jest.fn(({ id }: { id: string }) => (id === 'acme' ? { limits: ['7/min'] } : 'pro'))
    const limiter = createLimiter({ plans, defaultPlan: 'free', planOf })
    const quota = async (subject: string | Subject): Promise<unknown> =>
      (await limiter.consume(subject)).limits[0]?.quota
    expect([await quota('acme'), await quota('acme'), await quota('other')]).toEqual([7, 7, 100])
    expect(await quota({ id: 'acme', limits: '8/min' })).toBe(8)
    expect(planOf).toHaveBeenCalledTimes(2)
    expect(await internalsOf(limiter).planOf({ id: 'acme' })).toBe('own-limits')
  })

  test.each<[answer: unknown, message: string]>([
    [{ limits: ['7/mn'] }, "planOf: limits[0]: got '7/mn', expected"],
    [
      { limits: '7/min', plan: 'pro' },
      "expected the name of a plan, such as row.plan, limits, such as { limits: ['40/min'] }, or nothing",
    ],
  ])('where planOf answers %j the default plan holds, and an event tells', async (answer, message) => {
    for (const planOf of [() => answer, async () => answer]) {
      const limiter = createLimiter({ plans, defaultPlan: 'free', planOf: planOf as never })
      const errors: unknown[] = []
      limiter.on('planError', ({ code, message: text }) => errors.push([code, text]))
      expect((await limiter.consume('acme')).plan).toBe('free')
      expect(errors).toEqual([['ERR_TOLLGATE_PLAN', expect.stringContaining(message)]])
    }
  })

  test('while the store is silent the policy of the limiter decides, by their share', async () => {
    const store = failingStore(memoryStore())
    store.down()
    const limiter = closesWithTest(
      createLimiter({ limit: '100/min', store, local: { instances: 2 }, warnings: false }),
    )
    const decisions = []
    for (let i = 0; i < 4; i += 1) decisions.push(await limiter.consume({ id: 'acme', limits: ['4/min'] }))
    expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'local'],
      [true, 'local'],
      [false, 'local'],
      [false, 'local'],
    ])
  })

  test('for shedding they are a plan that is not named', async () => {
    const { planOf, planNames } = internalsOf(createLimiter({ plans, defaultPlan: 'free' }))
    expect(await planOf({ id: 'acme', limits: '5/min' })).toBe('own-limits')
    expect(planNames()).not.toContain('own-limits')
  })
})
