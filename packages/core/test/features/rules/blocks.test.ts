import { eventually } from '@tollgate/testing'
import type { Limiter, Rule, RuleChanged } from '../../../src/index.js'
import { closeBenches } from '../../support/benches.js'
import { memoryBench, redisBench, type RuleBench } from './rule-bench.js'

afterAll(closeBenches)

const plans = {
  free: { limits: '1/h', blockAfter: { denials: 3, within: '1min', for: ['1min', '15min'] } },
} as const

describe.each([
  ['memory', memoryBench],
  ['redis', redisBench],
])('blocks that come by themselves, on %s', (_, makeBench) => {
  let bench: RuleBench
  let limiter: Limiter
  beforeEach(() => {
    bench = makeBench()
    limiter = bench.limiter({ plans, limit: undefined, denials: false })
  })
  afterEach(() => bench.close())

  const blocked = async (): Promise<void> => {
    for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
    expect(await limiter.peek('acme')).toMatchObject({ allowed: false, reason: 'blocked' })
  }

  const rulesOf = async (): Promise<Rule[]> => {
    const rules: Rule[] = []
    for await (const rule of limiter.rules({ of: 'acme' })) rules.push(rule)
    return rules
  }

  test('they are listed beside the rules that were set, and lifted like these', async () => {
    expect(await rulesOf()).toEqual([])
    await blocked()
    const [rule] = await rulesOf()
    expect(rule).toEqual({ kind: 'block', of: 'acme', until: expect.any(Date), level: 1 })
    expect(await rule?.lift()).toBe(true)
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'quota-exceeded' })
    expect(await rulesOf()).toEqual([])
  })

  test('whoever ends one is named in the event, as for a rule', async () => {
    const heard: RuleChanged[] = []
    limiter.on('rule', (change) => heard.push(change))
    await blocked()
    const rule = { kind: 'block', of: 'acme', until: expect.any(Date) }
    expect(await limiter.unblock('acme', { by: 'ops', reason: 'paid' })).toBe(true)
    const lifted = { action: 'lifted', rule: { ...rule, level: 1 }, by: 'ops', reason: 'paid', isOwn: true }
    expect(heard.splice(0)).toEqual([lifted])
    expect(await limiter.unblock('acme', { by: 'ops' })).toBe(false)
    expect(heard).toEqual([])
    await blocked()
    await (await rulesOf())[0]?.lift({ by: 'support' })
    const { reason: _reason, ...silent } = lifted
    expect(heard.splice(0)).toEqual([{ ...silent, by: 'support' }])
    await blocked()
    await limiter.block('acme', { for: '1h', by: 'ops' })
    await limiter.unblock('acme', { by: 'boss' })
    expect(heard.map(({ action, by, rule: { level, by: setBy } }) => ({ action, by, level, setBy }))).toEqual(
      expect.arrayContaining([
        { action: 'set', by: 'ops', level: undefined, setBy: 'ops' },
        { action: 'lifted', by: 'boss', level: undefined, setBy: 'ops' },
        { action: 'lifted', by: 'boss', level: 1, setBy: undefined },
      ]),
    )
    expect(heard).toHaveLength(3)
  })

  test('one of a group is ended and named, too', async () => {
    const heard: RuleChanged[] = []
    limiter.on('rule', (change) => heard.push(change))
    const login = limiter.scope({ group: 'login', limit: plans.free })
    for (let i = 0; i < 5; i += 1) await login.consume('acme')
    expect(await login.consume('acme')).toMatchObject({ reason: 'blocked', block: { of: 'acme', level: 1 } })
    expect(await limiter.unblock('acme', { by: 'ops' })).toBe(true)
    expect(await login.consume('acme')).toMatchObject({ reason: 'quota-exceeded' })
    expect(heard).toMatchObject([{ action: 'lifted', rule: { kind: 'block', of: 'acme' }, by: 'ops' }])
  })

  test('a decision has the block with its end and level, also from memory', async () => {
    limiter = bench.limiter({ name: 'shown', plans, limit: undefined })
    await eventually(async () => (await limiter.consume('acme')).reason === 'blocked')
    const until = (await limiter.peek('acme')).block?.until
    expect(until).toBeInstanceOf(Date)
    await eventually(async () => {
      const { block, source } = await limiter.consume('acme')
      expect(block).toEqual({ of: 'acme', until: expect.any(Date), level: 1 })
      expect(Math.abs(Number(block?.until) - Number(until))).toBeLessThanOrEqual(1)
      expect(source).toBe(bench.kind === 'redis' ? 'cache' : 'store')
    })
    expect((await limiter.consume('globex')).block).toBeUndefined()
    const both = await limiter.consume([{ id: 'initech' }, { id: 'acme' }])
    expect(both).toMatchObject({ reason: 'blocked', block: { of: 'acme', level: 1 } })
  })

  test('with hashIds, they are listed under the hashed id', async () => {
    limiter = bench.limiter({
      plans,
      limit: undefined,
      denials: false,
      name: 'hashed',
      hashIds: 'a secret of 32 characters',
    })
    await blocked()
    expect(await rulesOf()).toMatchObject([{ kind: 'block', of: expect.stringMatching(/^#/) }])
  })

  test('they go on, and others begin, while rules multiply or replace the limits', async () => {
    await blocked()
    await limiter.scale('free', 0.5, { for: '1h' })
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'blocked' })
    await limiter.override('acme', { factor: 9, for: '1h' })
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'blocked' })
    await limiter.override('acme', { limits: '5/min', for: '1h' })
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'blocked' })
    for (let i = 0; i < 5; i += 1) await limiter.consume('globex')
    expect(await limiter.peek('globex')).toMatchObject({ reason: 'blocked' })
  })

  test('denials from memory count towards them although a rule came since', async () => {
    limiter = bench.limiter({ name: 'remembered', plans, limit: undefined })
    for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
    await limiter.override('acme', { concurrentFactor: 2, for: '1h' })
    expect(await limiter.consume('acme')).toMatchObject({ reason: 'blocked' })
  })

  test('they do not hold while an override leaves no limit in time', async () => {
    await blocked()
    await limiter.override('acme', { limits: '3 concurrent', for: '1h' })
    expect(await limiter.peek('acme')).toMatchObject({ allowed: true })
    await limiter.override('acme', { limits: 'unlimited', for: '1h' })
    expect(await limiter.peek('acme')).toMatchObject({ allowed: true })
  })

  test('unblock ends both kinds', async () => {
    await blocked()
    await limiter.block('acme', { for: '1h', reason: 'abuse' })
    expect(await rulesOf()).toMatchObject([{ reason: 'abuse' }, { level: 1 }])
    expect(await limiter.unblock('acme')).toBe(true)
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'quota-exceeded' })
    expect(await limiter.unblock('acme')).toBe(false)
  })
})
