import { eventually } from '@tollgate/testing'
import type { Limiter, RuleChanged } from '../../../src/index.js'
import { closeBenches } from '../../support/benches.js'
import { listed, memoryBench, redisBench, type RuleBench } from './rule-bench.js'

afterAll(closeBenches)

const plans = {
  plans: { free: '4/min', pro: ['10/min', '2 concurrent'] },
  defaultPlan: 'free',
  limit: undefined,
} as const

describe.each([
  ['memory', memoryBench],
  ['redis', redisBench],
])('rules on %s', (_, makeBench) => {
  let bench: RuleBench
  beforeEach(() => (bench = makeBench()))
  afterEach(() => bench.close())

  const remaining = async (limiter: Limiter, id = 'acme', plan = 'free'): Promise<number | undefined> =>
    (await limiter.peek({ id, plan })).limits[0]?.remaining

  test('a block denies at once, says until when and why, and takes nothing', async () => {
    const limiter = bench.limiter()
    const rule = await limiter.block('acme', { for: '1h', reason: 'abuse', by: 'ops' })
    expect(rule).toMatchObject({ kind: 'block', of: 'acme', reason: 'abuse', by: 'ops' })
    const denied = await limiter.consume('acme')
    expect(denied).toMatchObject({ allowed: false, reason: 'blocked', source: 'rule', limits: [] })
    expect(denied.block).toEqual({ of: 'acme', until: rule.until, reason: 'abuse' })
    expect(denied.retryAfterMs).toBeGreaterThan(3_590_000)
    expect(denied.retryAfterMs).toBeLessThanOrEqual(3_600_000)
    expect(await limiter.consume('globex')).toMatchObject({ allowed: true })
    expect(await limiter.unblock('acme')).toBe(true)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true, limits: [{ remaining: 2 }] })
    expect(await limiter.unblock('acme')).toBe(false)
  })

  test('a block holds for unlimited plans, groups, stacked limits, several subjects and reservations', async () => {
    const limiter = bench.limiter({ ...plans, plans: { ...plans.plans, internal: 'unlimited' } })
    await limiter.block('acme', { for: '1h' })
    const blocked = { allowed: false, source: 'rule' }
    expect(await limiter.consume({ id: 'acme', plan: 'internal' })).toMatchObject(blocked)
    expect(await limiter.peek('acme')).toMatchObject(blocked)
    expect(await limiter.scope({ group: 'search', limit: '9/min' }).consume('acme')).toMatchObject(blocked)
    expect(await limiter.scope({ stacked: { export: '9/min' } }).consume('acme')).toMatchObject(blocked)
    expect(await limiter.consume(['globex', 'acme'])).toMatchObject({ ...blocked, subject: { id: 'globex' } })
    expect((await limiter.reserve('acme', { cost: 2, for: '1min' })).allowed).toBe(false)
    expect(await remaining(limiter, 'globex')).toBe(4)
  })

  test('an override has limits whose windows begin at a date', async () => {
    const limiter = bench.limiter(plans)
    const limits = [{ quota: 7, window: 'week', anchor: new Date('2026-01-07T13:30:00Z') }] as const
    expect(await limiter.override('acme', { limits, for: '1h' })).toMatchObject({ limits })
    const decision = await limiter.consume('acme')
    expect(decision).toMatchObject({ override: true, limits: [{ name: 'week', quota: 7 }] })
    const { limits: own } = await limiter.peek({ id: 'acme', limits })
    expect(own).toMatchObject([{ quota: 7, remaining: 6 }])
  })

  test('an override multiplies all limits of a subject but its requests in flight', async () => {
    const limiter = bench.limiter(plans)
    await limiter.consume('acme')
    await limiter.override('acme', { factor: 2.5, for: '1h' })
    expect(await remaining(limiter)).toBe(9)
    expect(await limiter.consume({ id: 'acme', plan: 'pro' })).toMatchObject({
      plan: 'pro',
      override: true,
      limits: [{ quota: 25 }, { quota: 2 }],
    })
    await limiter.override('acme', { factor: 0.001, concurrentFactor: 3, for: '1h' })
    const { limits } = await limiter.peek({ id: 'acme', plan: 'pro' })
    expect(limits).toMatchObject([{ quota: 1 }, { quota: 6 }])
    expect(await limiter.scope({ group: 'search', limit: '9/min' }).peek('acme')).toMatchObject({
      limits: [{ quota: 1 }],
    })
    expect((await limiter.consume('globex')).override).toBeUndefined()
  })

  test('an override gives the limits of another plan, or any, and the plan keeps its name', async () => {
    const limiter = bench.limiter(plans)
    const rule = await limiter.override('acme', { plan: 'pro', for: '1h' })
    expect(await limiter.consume('acme')).toMatchObject({
      plan: 'free',
      override: true,
      limits: [{ quota: 10 }, { quota: 2 }],
    })
    await limiter.override('acme', { limits: ['7/min', '100/h'], factor: 2, for: '1h' })
    expect(await limiter.consume('acme')).toMatchObject({
      limits: [{ quota: 14, remaining: 12 }, { quota: 200 }],
    })
    expect(await rule.lift()).toBe(true)
    expect(await remaining(limiter)).toBe(2)
    expect(await rule.lift()).toBe(false)
  })

  test('a scaled plan and an override multiply each other, rounded once', async () => {
    const limiter = bench.limiter(plans)
    await limiter.scale('free', 0.4, { for: '1h', by: 'ops' })
    expect(await remaining(limiter)).toBe(2)
    expect(await remaining(limiter, 'acme', 'pro')).toBe(10)
    await limiter.override('acme', { factor: 1.5, for: '1h' })
    // 4 x 0.4 x 1.5 is 2.4; rounded twice, it would be 3.
    expect(await remaining(limiter)).toBe(2)
    await limiter.override('acme', { factor: 3, for: '1h' })
    expect(await remaining(limiter)).toBe(5)
  })

  test('an exact id beats the longest beginning, and an id that only looks like one is exact', async () => {
    const limiter = bench.limiter(plans)
    await limiter.override('trial-*', { factor: 2, for: '1h' })
    await limiter.override('trial-eu-*', { factor: 3, for: '1h' })
    await limiter.override('trial-eu-7', { factor: 4, for: '1h' })
    await limiter.block({ id: 'trial-*' }, { for: '1h' })
    expect(
      await Promise.all(['trial-1', 'trial-eu-1', 'trial-eu-7', 'other'].map((id) => remaining(limiter, id))),
    ).toEqual([8, 12, 16, 4])
    expect(await limiter.consume('trial-*')).toMatchObject({ allowed: false })
    expect(await limiter.consume('trial-1')).toMatchObject({ allowed: true })
  })

  test('rules are listed, the earliest first, with what was set', async () => {
    const limiter = bench.limiter(plans)
    const until = new Date(Date.now() + 7_200_000)
    await limiter.block('acme', { until, reason: 'abuse', by: 'ops' })
    await limiter.override('acme', { factor: 2, until: until.toISOString() })
    await limiter.scale('free', 0.5, { until: Number(until) })
    expect(await listed(limiter)).toEqual([
      { kind: 'block', of: 'acme', until, setAt: expect.any(Date), reason: 'abuse', by: 'ops' },
      { kind: 'override', of: 'acme', until, setAt: expect.any(Date), factor: 2 },
      { kind: 'scale', of: 'free', until, setAt: expect.any(Date), factor: 0.5 },
    ])
    expect(await listed(limiter, 'acme')).toHaveLength(2)
    expect(await listed(limiter, 'globex')).toEqual([])
  })

  test('limiters of other names have their own rules', async () => {
    const limiter = bench.limiter()
    const other = bench.limiter({ name: 'login' })
    await limiter.block('acme', { for: '1h' })
    expect(await other.consume('acme')).toMatchObject({ allowed: true })
    expect(await listed(other)).toEqual([])
    await other.block('acme', { for: '1min' })
    expect(await limiter.unblock('acme')).toBe(true)
    expect(await other.consume('acme')).toMatchObject({ allowed: false })
  })

  test('a rule ends by itself', async () => {
    const limiter = bench.limiter()
    await limiter.block('acme', { for: 300 })
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false })
    await eventually(async () => (await limiter.consume('acme')).allowed)
    expect(await listed(limiter)).toEqual([])
  })

  test('what a subject has, its events tell', async () => {
    const limiter = bench.limiter(plans)
    const heard: object[] = []
    limiter.on('rule', (change) => heard.push(change))
    await limiter.block('acme', { for: '1h', by: 'ops' })
    await limiter.block('acme', { for: '2h', by: 'night shift' })
    await limiter.unblock('acme', { by: 'boss', reason: 'a mistake' })
    await (await limiter.scale('free', 2, { for: '1h', by: 'ops' })).lift()
    await limiter.forgetPlan('acme', { everywhere: true })
    expect(heard).toMatchObject([
      { action: 'set', rule: { by: 'ops' }, by: 'ops', isOwn: true },
      { action: 'set', rule: { by: 'night shift' }, by: 'night shift', before: { by: 'ops' }, isOwn: true },
      { action: 'lifted', rule: { by: 'night shift' }, by: 'boss', reason: 'a mistake', isOwn: true },
      { action: 'set', rule: { kind: 'scale', of: 'free' }, by: 'ops' },
      { action: 'lifted', rule: { kind: 'scale', of: 'free', by: 'ops' }, isOwn: true },
      { action: 'set', rule: { kind: 'forgetPlan', of: 'acme' }, isOwn: true },
    ])
    expect(heard[4]).not.toHaveProperty('by')
  })

  test('a refused lift leaves no name behind for the next one', async () => {
    const limiter = bench.limiter()
    const heard: RuleChanged[] = []
    limiter.on('rule', (change) => heard.push(change))
    expect(await limiter.unblock('acme', { by: 'nobody' })).toBe(false)
    await limiter.block('acme', { for: '1h' })
    await limiter.unblock('acme')
    expect(heard.map(({ action, by }) => [action, by])).toEqual([
      ['set', undefined],
      ['lifted', undefined],
    ])
  })

  test('of two that lift a rule at the same time, the first one is named', async () => {
    const limiter = bench.limiter()
    const heard: RuleChanged[] = []
    limiter.on('rule', (change) => heard.push(change))
    const rule = await limiter.block('acme', { for: '1h', by: 'ops' })
    expect(await Promise.all([rule.lift({ by: 'a' }), rule.lift({ by: 'b' })])).toEqual([true, false])
    await limiter.block('acme', { for: '1h' })
    await rule.lift({ by: 'c' })
    expect(heard.filter(({ action }) => action === 'lifted').map(({ by }) => by)).toEqual(['a', 'c'])
  })

  test('rules of a subject are those that apply to it', async () => {
    const limiter = bench.limiter()
    await limiter.block('trial-*', { for: '1h', reason: 'the beginning' })
    await limiter.override('trial-2', { factor: 2, for: '1h' })
    await limiter.block('trial-22', { for: '1h' })
    await limiter.scale('default', 2, { for: '1h' })
    const ofs = async (of: string | { id: string; kind?: 'ip' }): Promise<string[]> => {
      const found: string[] = []
      for await (const { kind, of: about } of limiter.rules({ of })) found.push(`${kind} ${about}`)
      return found
    }
    expect(await ofs('trial-2')).toEqual(['block trial-*', 'override trial-2'])
    expect(await ofs({ id: 'trial-2' })).toEqual(['block trial-*', 'override trial-2'])
    expect(await ofs('trial-*')).toEqual(['block trial-*'])
    expect(await ofs('tri*')).toEqual([])
    expect(await ofs('acme')).toEqual([])
    expect(await ofs('default')).toEqual([])
    expect(await ofs({ id: 'trial-2', kind: 'ip' })).toEqual([])
  })
})

describe('rules in two processes', () => {
  let bench: RuleBench
  beforeEach(() => (bench = redisBench()))
  afterEach(() => bench.close())

  test('a rule that one sets holds in the other, until it is lifted', async () => {
    const [here, there] = [bench.limiter(), bench.limiter({}, 'there')]
    const heard: object[] = []
    there.on('rule', (change) => heard.push(change))
    await eventually(() => there.health().rules === 'current')
    const rule = await here.block('acme', { for: '1h', reason: 'abuse' })
    await eventually(async () => !(await there.peek('acme')).allowed)
    expect((await there.peek('acme')).block).toEqual({ of: 'acme', until: rule.until, reason: 'abuse' })
    await there.unblock('acme')
    await eventually(async () => (await here.peek('acme')).allowed)
    expect(heard).toMatchObject([
      { action: 'set', isOwn: false },
      { action: 'lifted', isOwn: true },
    ])
  })

  test('a process says in health whether it has read the rules', async () => {
    const limiter = bench.limiter()
    expect(limiter.health()).toMatchObject({ status: 'ok', rules: 'unread' })
    await eventually(() => limiter.health().rules === 'current')
  })

  test('a process that starts later knows the rules before its first request', async () => {
    await bench.limiter().block('acme', { for: '1h' })
    const there = bench.limiter({}, 'there')
    await eventually(() => there.health().rules === 'current')
    expect(await there.consume('acme')).toMatchObject({ allowed: false })
  })

  test('of two that set the same rule, the later one holds, and both hear of it', async () => {
    const [here, there] = [bench.limiter(), bench.limiter({}, 'there')]
    const heard: string[] = []
    for (const limiter of [here, there]) {
      limiter.on('rule', ({ rule }) => heard.push(`${limiter === here ? 'here' : 'there'} ${rule.by}`))
    }
    await Promise.all([
      here.block('acme', { for: '1h', by: 'a' }),
      there.block('acme', { for: '2h', by: 'b' }),
    ])
    const [rule] = (await listed(here)) as { by: string }[]
    await eventually(async () => expect(await listed(there)).toEqual([rule]))
    await eventually(() => {
      expect(heard.filter((one) => one.startsWith('here')).at(-1)).toBe(`here ${rule?.by}`)
      expect(heard.filter((one) => one.startsWith('there')).at(-1)).toBe(`there ${rule?.by}`)
    })
  })
})
