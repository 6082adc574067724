// Limits that observe: `mode: 'observe'` on a limiter, a plan or a limit, and `watch` beside a limit.
import { eventually } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Reservation,
} from '../../../src/index.js'
import { failingStore } from '../../../src/testing.js'
import { amend } from '../../support/amend.js'
import { closeBenches, jointBenches, START_MS, type Clock } from '../../support/benches.js'

afterAll(closeBenches)

const MIN = 60_000

async function consume(limiter: Pick<Limiter, 'consume'>, times: number, cost = 1): Promise<Decision[]> {
  const all: Decision[] = []
  for (let i = 0; i < times; i += 1) all.push(await limiter.consume('acme', { cost }))
  return all
}

const wouldDeny = ({ observed = [] }: Decision): string[] =>
  observed.filter((limit) => limit.wouldDeny).map(({ name }) => name)

describe.each(jointBenches)('limits that observe, on $store', ({ limiter: make }) => {
  const start = (options: Omit<LimiterOptions, 'store'>): { limiter: Limiter; clock: Clock } => {
    const clock = { now: START_MS }
    return { limiter: make(options, clock), clock }
  }

  test('nothing is denied, and each decision says what would have been', async () => {
    const { limiter, clock } = start({ limit: '2/min', mode: 'observe' })
    const heard: unknown[] = []
    limiter.on('observed', (decision, context) => void heard.push(decision.observed, context))
    const all = await consume(limiter, 3)
    expect(all.map(({ allowed }) => allowed)).toEqual([true, true, true])
    expect(all.map(wouldDeny)).toEqual([[], [], ['minute']])
    expect(all[2]).toMatchObject({
      limits: [],
      violated: [],
      retryAfterMs: 0,
      source: 'store',
      observed: [
        { name: 'minute', quota: 2, windowMs: MIN, used: 2, remaining: 0, resetMs: MIN, wouldDeny: true },
      ],
    })
    expect(heard).toEqual([all[2]?.observed, undefined])
    expect(limiter.stats()).toMatchObject({ observed: 1, decisions: { store: { allowed: 3, denied: 0 } } })
    clock.now += MIN
    // The third took nothing.
    expect((await consume(limiter, 3)).map(wouldDeny)).toEqual([[], [], ['minute']])
  })

  test('one limit observes beside one that denies, and takes nothing of what that denies', async () => {
    const { limiter, clock } = start({
      limit: [{ quota: 3, window: 'min', mode: 'observe' }, '2/10s'],
    })
    const all = await consume(limiter, 3)
    expect(all.map(({ allowed, violated }) => [allowed, ...violated])).toEqual([
      [true],
      [true],
      [false, '10-seconds'],
    ])
    expect(all[1]?.limits.map(({ name }) => name)).toEqual(['10-seconds'])
    expect(all[1]?.observed).toMatchObject([{ name: 'minute', used: 2, remaining: 1 }])
    expect(all[2]?.observed).toBeUndefined()
    clock.now += 10_000
    expect((await consume(limiter, 2)).map(wouldDeny)).toEqual([[], ['minute']])
  })

  test('a limit that is watched beside another denies nothing, and is in no other field', async () => {
    const { limiter } = start({ limit: { quota: 3, window: 'min', watch: 2 } })
    const all = await consume(limiter, 4)
    expect(all.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    expect(all.slice(0, 3).map(wouldDeny)).toEqual([[], [], ['minute-watch']])
    expect(all.map(({ limits }) => limits.map(({ name, remaining }) => [name, remaining]))).toEqual([
      [['minute', 2]],
      [['minute', 1]],
      [['minute', 0]],
      [['minute', 0]],
    ])
    expect(all[3]).toMatchObject({ violated: ['minute'], retryAfterMs: MIN })
  })

  test('a cost above the watched quota is let in, and said to be too much', async () => {
    const { limiter } = start({ limit: { quota: 9, window: 'min', watch: 2 } })
    const [first] = await consume(limiter, 1, 5)
    expect([first?.allowed, wouldDeny(first as Decision)]).toEqual([true, ['minute-watch']])
    expect(await limiter.peek('acme')).toMatchObject({ observed: [{ remaining: 2, wouldDeny: false }] })
  })

  test('what was counted stays when the mode changes', async () => {
    const observing = { limits: '2/min', mode: 'observe' } as const
    const { limiter } = start({ plans: { free: observing } })
    await consume(limiter, 2)
    limiter.setPlans({ free: '2/min' })
    expect((await limiter.consume('acme')).allowed).toBe(false)
    limiter.setPlans({ free: observing })
    expect(wouldDeny(await limiter.consume('acme'))).toEqual(['minute'])
  })

  test.each(['sliding-log', 'fixed-window', 'sliding-window', 'token-bucket'] as const)(
    'a %s of the same window keeps its own units, whatever stands beside it',
    async (algorithm) => {
      const terms = { window: 'min', algorithm } as const
      const [low, high] = [
        { ...terms, quota: 2, name: 'low' },
        { ...terms, quota: 5 },
      ]
      for (const mode of ['observe', 'enforce'] as const) {
        const { limiter } = start({
          plans: {
            free: [
              { ...low, mode: 'observe' },
              { ...high, mode },
            ],
          },
        })
        expect((await consume(limiter, 5)).map(wouldDeny).slice(2)).toEqual([['low'], ['low'], ['low']])
        limiter.setPlans({ free: high })
        expect((await limiter.consume('acme')).violated).toEqual(['minute'])
        limiter.setPlans({ free: [high, low] })
        expect((await limiter.consume('acme')).violated).toEqual(['minute', 'low'])
      }
    },
  )

  test('a refund and a lower cost give back only what was taken', async () => {
    const { limiter } = start({ limit: { quota: 9, window: 'min', watch: 2 } })
    const [first, second, third] = (await consume(limiter, 3)) as [Decision, Decision, Decision]
    expect(wouldDeny(third)).toEqual(['minute-watch'])
    const left = async (): Promise<unknown[]> => {
      const { limits, observed = [] } = await limiter.peek('acme')
      return [...limits, ...observed].map(({ remaining }) => remaining)
    }
    expect(await limiter.refund(third)).toBe(true)
    expect(await left()).toEqual([7, 0])
    expect(await limiter.refund(second)).toBe(true)
    expect(await left()).toEqual([8, 1])
    expect(await limiter.settle(first, 3)).toBe(3)
    // The two units more do not fit the watched limit, which has one.
    expect(await left()).toEqual([6, 1])
  })

  test('what is committed of a reservation counts only where it was reserved', async () => {
    const { limiter } = start({ limit: { quota: 9, window: 'min', watch: 2 } })
    const reserve = (cost: number): Promise<Reservation> => limiter.reserve('acme', { cost, for: '10s' })
    const [large, small] = [await reserve(5), await reserve(2)]
    expect([large, small].map(({ decision }) => wouldDeny(decision))).toEqual([['minute-watch'], []])
    const left = async (): Promise<unknown[]> => {
      const { limits, observed = [] } = await limiter.peek('acme')
      return [...limits, ...observed].map(({ remaining }) => remaining)
    }
    expect([await small.cancel(), await large.commit(3), await left()]).toEqual([true, 3, [6, 2]])
    expect([await (await reserve(2)).commit(1), await left()]).toEqual([1, [5, 1]])
  })

  test.each([
    { used: 3, first: 2, cost: 5, left: 3, isTooMuch: true },
    { used: 5, first: 2, cost: 3, left: 1, isTooMuch: true },
    { used: 1, first: 2, cost: 3, left: 2, isTooMuch: false },
  ])('a route with the cost $cost sees $used of 6 units used', async ({ used, first, cost, ...expected }) => {
    const { limiter } = start({ limit: { quota: 99, window: 'min', watch: 6 } })
    await limiter.consume('acme', { cost: used })
    const amended = await amend(limiter, await limiter.consume('acme', { cost: first }), { cost })
    expect(wouldDeny(amended).length > 0).toBe(expected.isTooMuch)
    const { limits, observed = [] } = await limiter.peek('acme')
    expect([...limits, ...observed].map(({ remaining }) => remaining)).toEqual([
      99 - used - cost,
      expected.left,
    ])
  })

  test('several subjects, groups and stacked limits each observe for themselves', async () => {
    const { limiter } = start({
      plans: { team: '9/min', seat: { limits: '1/min', mode: 'observe' } },
      defaultPlan: 'team',
    })
    const both = [
      { id: 'org', plan: 'team' },
      { id: 'ada', plan: 'seat' },
    ] as const
    const scope = limiter.scope({
      group: 'search',
      limit: { quota: 5, window: 'min', watch: 1 },
      stacked: { export: { quota: 1, window: 'min', mode: 'observe' } },
    })
    const all = [await limiter.consume(both as never), await limiter.consume(both as never)]
    expect(all.map(wouldDeny)).toEqual([[], ['seat.minute']])
    expect(all[1]?.limits.map(({ name, remaining }) => [name, remaining])).toEqual([['minute', 7]])
    const scoped = await consume(scope, 2)
    expect(scoped.map(wouldDeny)).toEqual([[], ['minute-watch', 'export.minute']])
    expect(scoped[1]?.limits.map(({ name, remaining }) => [name, remaining])).toEqual([['minute', 3]])
  })

  test('blocked plans and blocks deny', async () => {
    const { limiter } = start({
      plans: { free: '2/min', gone: 'blocked' },
      defaultPlan: 'free',
      mode: 'observe',
    })
    expect((await limiter.consume({ id: 'acme', plan: 'gone' })).allowed).toBe(false)
    if (limiter.health().rules === undefined) return
    await limiter.block('globex', { for: '1h' })
    expect(await limiter.consume('globex')).toMatchObject({ allowed: false, reason: 'blocked' })
  })

  test('an override multiplies what is watched, too', async () => {
    const { limiter } = start({ limit: { quota: 3, window: 'min', watch: 1 } })
    if (limiter.health().rules === undefined) return
    await limiter.override('acme', { factor: 2, for: '1h' })
    expect((await consume(limiter, 3)).map(wouldDeny)).toEqual([[], [], ['minute-watch']])
  })

  test('an override with a plan that observes has none of the `lease`, `wait` and `blockAfter` of the own plan', async () => {
    const { limiter } = start({
      plans: {
        seen: { limits: '1/min', mode: 'observe' },
        line: { limits: '1/min', wait: { maxDelay: '1s' } },
        free: { limits: '1/min', blockAfter: { denials: 1, within: '1min', for: ['1h'] } },
        busy: { limits: '900/min', lease: true },
      },
      defaultPlan: 'seen',
    })
    if (limiter.health().rules === undefined) return
    const free = { id: 'free', plan: 'free' }
    for (let i = 0; i < 3; i += 1) await limiter.consume(free)
    for (const plan of ['line', 'free', 'busy']) {
      await limiter.override(plan, { plan: 'seen', factor: 500, for: '1h' })
      const all = Array.from({ length: 200 }, async () => limiter.consume({ id: plan, plan }))
      const observed = (await Promise.all(all)).map((one) => one.observed?.length)
      expect([plan, ...observed]).toEqual([plan, ...Array.from({ length: 200 }, () => 1)])
    }
  })

  test('`lease`, `wait` and `blockAfter` have no effect on a plan that observes', async () => {
    const { limiter } = start({
      plans: {
        line: { limits: '1/min', wait: { maxDelay: '1s' }, mode: 'observe' },
        free: { limits: '1/min', blockAfter: { denials: 1, within: '1min', for: ['1h'] }, mode: 'observe' },
        busy: { limits: '100/min', lease: true, mode: 'observe' },
      },
      defaultPlan: 'line',
    })
    for (const plan of ['line', 'free']) {
      const all = []
      for (let i = 0; i < 3; i += 1) all.push(await limiter.consume({ id: plan, plan }))
      expect(all.map(wouldDeny)).toEqual([[], ['minute'], ['minute']])
    }
    for (let i = 0; i < 70; i += 1)
      expect((await limiter.consume({ id: 'busy', plan: 'busy' })).source).toBe('store')
  })

  test('without limits that observe, decisions do not speak of them', async () => {
    const { limiter } = start({ limit: '2/min' })
    expect(Object.keys((await consume(limiter, 1))[0] as Decision)).not.toContain('observed')
  })
})

describe.each(jointBenches.slice(0, 2))('requests in flight, on $store', ({ limiter: make }) => {
  test('a request that would have been one too many takes no slot', async () => {
    const clock = { now: START_MS }
    const limiter = make({ limit: { concurrent: 1, mode: 'observe' } }, clock)
    const first = await limiter.consume('acme')
    const second = await limiter.consume('acme')
    expect([first, second].map(wouldDeny)).toEqual([[], ['concurrent']])
    expect(limiter.stats().inFlight).toBe(1)
    expect([second.release(), first.release()]).toEqual([false, true])
    expect(wouldDeny(await limiter.consume('acme'))).toEqual([])
  })

  test('beside a window that observes, requests of several subjects at once are counted as one by one', async () => {
    const limit = [{ quota: 2, window: 'min', mode: 'observe' } as const, '3 concurrent']
    const limiter = make({ limit, denials: false }, { now: START_MS })
    const at = async (id: string, count: number): Promise<Decision[]> =>
      Promise.all(Array.from({ length: count }, async () => limiter.consume(id)))
    const [acme, globex] = await Promise.all([at('acme', 4), at('globex', 2)])
    expect([...acme, ...globex].map(wouldDeny)).toEqual([[], [], ['minute'], [], [], []])
    expect(acme.map(({ allowed, violated }) => [allowed, ...violated])).toEqual([
      [true],
      [true],
      [true],
      [false, 'concurrent'],
    ])
    for (const decision of acme) decision.release()
    expect((await at('acme', 1)).map(({ allowed }) => allowed)).toEqual([true])
  })
})

test('what a process let in alone is charged only to limits that it fits', async () => {
  const store = failingStore(memoryStore())
  const limit = { quota: 100, window: 'h', watch: 5 } as const
  const limiter = createLimiter({ limit, store, deadlineMs: 200, local: { instances: 1 }, warnings: false })
  const left = async (): Promise<unknown[]> => {
    const { limits, observed = [] } = await limiter.peek('acme')
    return [...limits, ...observed].map(({ remaining }) => remaining)
  }
  store.down()
  const [large, small] = [
    await limiter.consume('acme', { cost: 9 }),
    await limiter.consume('acme', { cost: 2 }),
  ]
  const refunded = await limiter.consume('acme', { cost: 9 })
  expect([large.source, small.source, await limiter.refund(refunded)]).toEqual(['local', 'local', true])
  store.heal()
  await eventually(async () => (await left()).length === 2 && limiter.stats().reconciled.units > 0)
  expect(await left()).toEqual([89, 3])
  await limiter.close()
})
