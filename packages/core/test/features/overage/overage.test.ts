// Limits with `overage`: they count what exceeds their quota, and let it pass.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'
import { failingStore } from '../../../src/testing.js'
import { amend } from '../../support/amend.js'
import { closeBenches, jointBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'

afterAll(closeBenches)

const MIN = 60_000
const MONTHLY = { quota: 3, window: 'month', overage: true } as const

async function consume(limiter: Pick<Limiter, 'consume'>, times: number, cost = 1): Promise<Decision[]> {
  const all: Decision[] = []
  for (let i = 0; i < times; i += 1) all.push(await limiter.consume('acme', { cost }))
  return all
}

/** What each limit of a decision says of units: left, and beyond the quota. */
const unitsIn = ({ limits }: Decision): unknown[] => limits.map(({ remaining, over }) => [remaining, over])

describe.each(jointBenches)('overage, on $store', ({ limiter: make }) => {
  const start = (options: Omit<LimiterOptions, 'store'>): { limiter: Limiter; clock: Clock } => {
    const clock = { now: START_MS }
    return { limiter: make(options, clock), clock }
  }

  test('what exceeds the quota passes, is counted, and is told', async () => {
    const { limiter, clock } = start({ limit: { quota: 3, window: 'min', overage: true } })
    const heard: unknown[] = []
    limiter.on('overage', ({ limits }, context) => void heard.push(limits[0]?.over, context))
    const all = await consume(limiter, 3, 2)
    expect(all.map(({ allowed }) => allowed)).toEqual([true, true, true])
    expect(all.map(unitsIn)).toEqual([[[1, 0]], [[0, 1]], [[0, 3]]])
    expect(all[2]).toMatchObject({
      ...{ violated: [], retryAfterMs: 0, source: 'store' },
      limits: [{ name: 'minute', quota: 3, windowMs: MIN, used: 3, remaining: 0, resetMs: MIN, over: 3 }],
    })
    expect(heard).toEqual([1, undefined, 3, undefined])
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, 3]])
    clock.now += MIN
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[3, 0]])
    expect((await consume(limiter, 1, 5)).map(unitsIn)).toEqual([[[0, 2]]])
  })

  test('on the calendar, it counts to the end of the month', async () => {
    const { limiter, clock } = start({ limit: MONTHLY })
    expect((await consume(limiter, 5)).map(unitsIn).at(-1)).toEqual([[0, 2]])
    clock.now = Date.UTC(2026, 1, 1) - 1
    expect((await consume(limiter, 1)).map(unitsIn)).toEqual([[[0, 3]]])
    clock.now += 1
    expect((await consume(limiter, 1)).map(unitsIn)).toEqual([[[2, 0]]])
  })

  test('what another limit denies is not counted, and headers of one limit are of that', async () => {
    const { limiter, clock } = start({ limit: ['2/s', MONTHLY] })
    const all = await consume(limiter, 3)
    expect(all.map(({ violated }) => violated)).toEqual([[], [], ['second']])
    clock.now += 1000
    expect(unitsIn(await limiter.peek('acme'))).toEqual([
      [2, undefined],
      [1, 0],
    ])
    expect((await consume(limiter, 2)).map(unitsIn)).toEqual([
      [
        [1, undefined],
        [0, 0],
      ],
      [
        [0, undefined],
        [0, 1],
      ],
    ])
  })

  test('a larger limit of the same window bounds what exceeds the quota', async () => {
    const { limiter } = start({ limit: [MONTHLY, { quota: 5, window: 'month', name: 'most' }] })
    const all = await consume(limiter, 6)
    expect(all.map(({ violated }) => violated).slice(4)).toEqual([[], ['most']])
    expect(unitsIn(all[5] as Decision)).toEqual([
      [0, 2],
      [0, undefined],
    ])
  })

  test('what was used counts when overage is switched on and off', async () => {
    const strict = '3/month'
    const { limiter } = start({ plans: { free: strict } })
    await consume(limiter, 3)
    limiter.setPlans({ free: MONTHLY })
    expect((await consume(limiter, 2)).map(unitsIn)).toEqual([[[0, 1]], [[0, 2]]])
    limiter.setPlans({ free: strict })
    expect((await limiter.consume('acme')).allowed).toBe(false)
    limiter.setPlans({ free: MONTHLY })
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, 2]])
  })

  test('refunds, lower costs and cancelled reservations give back what exceeds the quota first', async () => {
    const { limiter } = start({ limit: MONTHLY })
    const [first, , , fourth] = (await consume(limiter, 4, 2)) as [Decision, Decision, Decision, Decision]
    expect(unitsIn(fourth)).toEqual([[0, 5]])
    expect(await limiter.refund(fourth)).toBe(true)
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, 3]])
    expect(await limiter.settle(first, 9)).toBe(9)
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, 10]])
    const kept = await limiter.reserve('acme', { cost: 4, for: '10s' })
    const lost = await limiter.reserve('acme', { cost: 4, for: '10s' })
    expect(kept.decision.allowed).toBe(true)
    expect([await kept.commit(3), await lost.cancel()]).toEqual([3, true])
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, 13]])
  })

  test.each([
    [1, 3, 3],
    [3, 1, 1],
    [2, 9, 9],
  ])('a route that costs %i at first and %i in the end counts once', async (first, cost, counted) => {
    const { limiter } = start({ limit: MONTHLY })
    await consume(limiter, 3)
    const amended = await amend(limiter, await limiter.consume('acme', { cost: first }), { cost })
    expect([amended.allowed, amended.cost]).toEqual([true, cost])
    expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, counted]])
  })

  test('several subjects, groups and stacked limits each count for themselves', async () => {
    const { limiter } = start({ plans: { team: MONTHLY, seat: '3/min' }, defaultPlan: 'team' })
    const both = [{ id: 'org' }, { id: 'ada', plan: 'seat' }] as const
    const all = []
    for (let i = 0; i < 4; i += 1) all.push(await limiter.consume(both as never, { cost: 1 }))
    expect(all.map(({ violated }) => violated)).toEqual([[], [], [], ['seat.minute']])
    expect(unitsIn(await limiter.peek('org'))).toEqual([[0, 0]])
    const scope = limiter.scope({
      group: 'search',
      limit: { quota: 1, window: 'd', overage: true },
      stacked: { export: { quota: 2, window: 'd', overage: true } },
    })
    expect((await consume(scope, 3)).map(unitsIn).at(-1)).toEqual([
      [0, 2],
      [0, 1],
    ])
  })

  test('requests of one batch are counted one by one', async () => {
    const { limiter } = start({ limit: [MONTHLY, '20/min'] })
    const all = await Promise.all(Array.from({ length: 30 }, async () => limiter.consume('acme')))
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(20)
    const over = all.filter(({ allowed }) => allowed).map(({ limits }) => limits[0]?.over ?? 0)
    expect(over.toSorted((a, b) => a - b)).toEqual([0, 0, 0, ...Array.from({ length: 17 }, (_, i) => i + 1)])
  })

  test('in the mode `observe` it counts as ever', async () => {
    const { limiter } = start({ limit: [MONTHLY, '1/min'], mode: 'observe' })
    const all = await consume(limiter, 4)
    expect(
      all.map(({ limits, observed = [] }) => [limits.map(({ over }) => over), observed[0]?.wouldDeny]),
    ).toEqual([
      [[0], false],
      [[0], true],
      [[0], true],
      [[1], true],
    ])
  })

  test('what is watched beside it sees the lower quota', async () => {
    const { limiter } = start({ limit: { ...MONTHLY, watch: 2 } })
    const all = await consume(limiter, 4)
    expect(all.map(({ observed = [] }) => observed[0]?.wouldDeny)).toEqual([false, false, true, true])
    expect(unitsIn(all[3] as Decision)).toEqual([[0, 1]])
  })

  test('`wait` and `blockAfter` have no effect on a plan that denies nothing', async () => {
    const { limiter } = start({
      plans: {
        line: { limits: MONTHLY, wait: { maxDelay: '1s' } },
        free: { limits: MONTHLY, blockAfter: { denials: 1, within: '1min', for: ['1h'] } },
      },
      defaultPlan: 'line',
    })
    for (const plan of ['line', 'free']) {
      for (let i = 0; i < 5; i += 1) {
        expect(await limiter.consume({ id: plan, plan })).toMatchObject({ allowed: true, source: 'store' })
      }
    }
  })

  test('an override multiplies the quota, and one with overage ends the leases of the own plan', async () => {
    const { limiter } = start({
      plans: { free: MONTHLY, busy: { limits: '900/min', lease: true } },
      defaultPlan: 'free',
    })
    if (limiter.health().rules === undefined) return
    await limiter.override('acme', { factor: 2, for: '1h' })
    expect((await consume(limiter, 8)).map(unitsIn).at(-1)).toEqual([[0, 2]])
    for (const [id, limits] of [
      ['busy', [MONTHLY]],
      ['busier', [MONTHLY, '900/min']],
    ] as const) {
      await limiter.override(id, { limits, for: '1h' })
      const all = Array.from({ length: 200 }, async () => limiter.consume({ id, plan: 'busy' }))
      expect(new Set((await Promise.all(all)).map(({ source }) => source))).toEqual(new Set(['store']))
      expect((await limiter.peek({ id, plan: 'busy' })).limits[0]?.over).toBe(197)
    }
  })

  test('as many units as a count can hold', async () => {
    const { limiter } = start({ limit: { ...MONTHLY, quota: 10 ** 12 } })
    const all = await consume(limiter, 3, 10 ** 12)
    const most = 2 ** 40 - 1 - 10 ** 12
    expect(all.map(unitsIn)).toEqual([[[0, 0]], [[0, most]], [[0, most]]])
  })

  test('without overage, limits do not speak of it', async () => {
    const { limiter } = start({ limit: '2/min' })
    expect(Object.keys((await consume(limiter, 1))[0]?.limits[0] ?? {})).not.toContain('over')
  })
})

describe.each(jointBenches.slice(0, 2))(
  'requests in flight beside overage, on $store',
  ({ limiter: make }) => {
    test('a request that finds no slot is not counted', async () => {
      const limiter = make({ limit: [MONTHLY, '1 concurrent'] }, { now: START_MS })
      const first = await limiter.consume('acme', { cost: 5 })
      expect((await limiter.consume('acme', { cost: 5 })).violated).toEqual(['concurrent'])
      expect([first.release(), unitsIn(await limiter.peek('acme'))[0]]).toEqual([true, [0, 2]])
    })
  },
)

test.each(['memory', 'redis'])('a request waits for the other limits alone, on %s', async (kind) => {
  const store = kind === 'memory' ? memoryStore() : redisStore(sharedRedis(), { prefix: testPrefix() })
  // So slow that some have to wait, however busy the machine is.
  const limits = [MONTHLY, '1/4s burst 750']
  const limiter = createLimiter({
    plans: { line: { limits, wait: { maxDelay: '30s' } } },
    defaultPlan: 'line',
    store,
    deadlineMs: 10_000,
  })
  await limiter.consume('acme', { cost: 750 })
  const all = await Promise.all(Array.from({ length: 2 }, async () => limiter.consume('acme')))
  expect(all.map(({ allowed }) => allowed)).toEqual(Array.from({ length: 2 }, () => true))
  expect(all.filter(({ source }) => source === 'place').length).toBeGreaterThan(0)
  // A place counts once it was used.
  await eventually(async () => (await limiter.peek('acme')).limits[0]?.over === 749)
  await limiter.close()
})

test('what a process let in alone is charged in full', async () => {
  const store = failingStore(memoryStore())
  const limit = { quota: 10, window: 'd', overage: true } as const
  const limiter = createLimiter({ limit, store, deadlineMs: 200, local: { instances: 1 }, warnings: false })
  await limiter.consume('acme', { cost: 8 })
  store.down()
  const alone = [await limiter.consume('acme', { cost: 9 }), await limiter.consume('acme', { cost: 20 })]
  expect(alone.map(({ allowed, source }) => [allowed, source])).toEqual([
    [true, 'local'],
    [true, 'local'],
  ])
  store.heal()
  await eventually(
    async () => limiter.stats().reconciled.units > 0 && (await limiter.peek('acme')).source === 'store',
  )
  expect(unitsIn(await limiter.peek('acme'))).toEqual([[0, 27]])
  await limiter.close()
})
