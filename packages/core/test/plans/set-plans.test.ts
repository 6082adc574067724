import { createLimiter, type PlanInput } from '../../src/index.js'
import { compilePlans } from '../../src/plans/plans.js'

const policy = (): 'open' => 'open'

describe('setting new plans', () => {
  test('compiles only what changed: of many plans, those that are the same stay the same objects', () => {
    const plans = (count: number): Record<string, PlanInput> =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [
          `plan-${i}`,
          i % 2 ? `${i + 1}/min` : [`${i + 1}/min`, { quota: i + 1, window: 'month', anchor: 5 }],
        ]),
      )
    const before = compilePlans({ plans: plans(1000) })
    const given = { ...plans(1001), 'plan-7': '99/min' }
    const after = compilePlans({ plans: given }, { known: before })
    const made = [...after.byName.values()].filter((plan) => before.byName.get(plan.name) !== plan)
    expect(made.map(({ name }) => name)).toEqual(['plan-7', 'plan-1000'])
    expect(new Set([...after.byName.values()].map(({ serial }) => serial)).size).toBe(1001)
    const again = compilePlans({ plans: given }, { known: after })
    expect([...again.byName.values()]).toEqual([...after.byName.values()])
    expect([...again.byName.values()].every((plan) => after.byName.get(plan.name) === plan)).toBe(true)
  })

  const anchor = new Date('2026-01-31')
  test.each<[what: string, before: PlanInput, after: PlanInput, isSame: boolean]>([
    ['the same text', '5/min', '5/min', true],
    ['other text', '5/min', '6/min', false],
    ['the same list', ['5/min', '6/h'], ['5/min', '6/h'], true],
    ['a longer list', ['5/min'], ['5/min', '6/h'], false],
    ['a shorter list', ['5/min', '6/h'], ['5/min'], false],
    ['the same options', { quota: 5, window: 'min' }, { window: 'min', quota: 5 }, true],
    ['one option more', { quota: 5, window: 'min' }, { quota: 5, window: 'min', name: 'm' }, false],
    ['one option less', { quota: 5, window: 'min', name: 'm' }, { quota: 5, window: 'min' }, false],
    ['unlimited', 'unlimited', 'unlimited', true],
    ['the same date', month(anchor), month(new Date(anchor)), true],
    ['another date', month(anchor), month(new Date('2026-01-30')), false],
    ['the same policy', withPolicy(policy), withPolicy(policy), true],
    ['a policy of the same text', withPolicy(() => 'open'), withPolicy(() => 'open'), false],
  ])('%s', (_, before, after, isSame) => {
    const other = '1/min'
    const known = compilePlans({ plans: { p: before, other } })
    const plans = compilePlans({ plans: { p: after, other } }, { known: known })
    expect(plans.byName.get('p') === known.byName.get('p')).toBe(isSame)
  })

  test.each<[valid: PlanInput, invalid: unknown]>([
    [month(anchor), month(anchor.toISOString())],
    [month(anchor), month(new Date(Number.NaN))],
    [
      { quota: 5, window: 'min' },
      { quota: Number.NaN, window: 'min' },
    ],
    [{ quota: 5, window: 'min' }, new Map(Object.entries({ quota: 5, window: 'min' }))],
    [['5/min'], { 0: '5/min', length: 1 }],
    [['5/min'], ['5/min', undefined]],
  ])('%p does not make %p right', (valid, invalid) => {
    const limiter = createLimiter({ plans: { p: valid } })
    expect(() => limiter.setPlans({ p: invalid as PlanInput })).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG' }),
    )
  })

  test('sees changes that the user made in their own object', async () => {
    const limit = { quota: 5, window: 'min' }
    const date = new Date('2026-01-31T00:00:00Z')
    const plans = { p: [limit, { quota: 9, window: 'month', anchor: date }] }
    const limiter = createLimiter({ plans })
    limit.quota = 3
    limiter.setPlans(plans)
    expect(await limiter.peek('acme')).toMatchObject({ limits: [{ quota: 3 }, { quota: 9 }] })
    const before = (await limiter.peek('acme')).limits[1]?.resetMs
    await limiter.consume('acme')
    date.setUTCDate(15)
    limiter.setPlans(plans)
    await limiter.consume('acme')
    expect((await limiter.peek('acme')).limits[1]?.remaining).toBe(8)
    expect(before).toBeDefined()
    plans.p.push({ quota: 2, window: 'h' })
    limiter.setPlans(plans)
    expect((await limiter.peek('acme')).limits).toHaveLength(3)
  })
})

function month(start: Date | string): PlanInput {
  return { quota: 5, window: 'month', anchor: start }
}

function withPolicy(onStoreFailure: () => 'open'): PlanInput {
  return { limits: '5/min', onStoreFailure }
}
