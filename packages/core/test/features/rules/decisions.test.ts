// Decisions, reservations, lines and leases while rules are set and lifted: units go back to where they were taken.
import { cases, eventually, Random } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'
import { closeBenches } from '../../support/benches.js'
import { WaitingBench } from '../../limiter/waiting/waiting-bench.js'
import { listed, memoryBench, redisBench, type RuleBench } from './rule-bench.js'

afterAll(closeBenches)

const HOUR = { for: '1h' } as const
const plans = {
  plans: {
    free: '10/min',
    pro: ['100/min', '2 concurrent'],
    team: ['60/min', '2 concurrent'],
    internal: 'unlimited',
    suspended: 'blocked',
  },
  defaultPlan: 'free',
  limit: undefined,
} as const

const leftOf = async (
  limiter: Limiter,
  id: string | { id: string; plan: string } = 'acme',
): Promise<number | undefined> => (await limiter.peek(id)).limits[0]?.remaining

describe.each([
  ['memory', memoryBench],
  ['redis', redisBench],
])('on %s', (kind, makeBench) => {
  let bench: RuleBench
  let limiter: Limiter
  beforeEach(() => {
    bench = makeBench()
    limiter = bench.limiter(plans as Partial<LimiterOptions>)
  })
  afterEach(() => bench.close())

  test('a refund gives back exactly what a decision took, whatever rules came since', async () => {
    const taken: Decision[] = []
    taken.push(await limiter.consume('acme', { cost: 3 }))
    await limiter.override('acme', { factor: 3, ...HOUR })
    taken.push(await limiter.consume('acme', { cost: 20 }))
    expect(await leftOf(limiter)).toBe(7)
    await limiter.override('acme', { limits: ['50/min', '500/h'], ...HOUR })
    taken.push(await limiter.consume('acme', { cost: 5 }))
    await limiter.scale('free', 0.5, HOUR)
    expect(await leftOf(limiter)).toBe(0)
    await limiter.block('acme', HOUR)
    expect(await limiter.refund(taken[1] as Decision)).toBe(true)
    expect(await limiter.refund(taken[1] as Decision)).toBe(false)
    await limiter.unblock('acme')
    expect(await leftOf(limiter)).toBe(17)
    for await (const rule of limiter.rules()) await rule.lift()
    expect(await leftOf(limiter)).toBe(2)
    expect(await limiter.settle(taken[2] as Decision, 1)).toBe(1)
    expect(await leftOf(limiter)).toBe(6)
    expect(await limiter.refund(taken[0] as Decision)).toBe(true)
    expect(await leftOf(limiter)).toBe(9)
  })

  test('units of a blocked subject go back by its id, and are forgotten by a reset', async () => {
    await limiter.consume('acme', { cost: 6 })
    await limiter.scope({ stacked: { export: '10/min' } }).consume('acme', { cost: 2 })
    await limiter.block('acme', HOUR)
    expect(await limiter.refund('acme', 3)).toBe(true)
    expect(await limiter.scope({ stacked: { export: '10/min' } }).refund('acme', 1)).toBe(true)
    await limiter.unblock('acme')
    expect(await leftOf(limiter)).toBe(6)
    await limiter.block('acme', HOUR)
    expect(await limiter.reset('acme')).toBe(true)
    await limiter.unblock('acme')
    expect(await leftOf(limiter)).toBe(10)
  })

  test('a reset also forgets what an override counted', async () => {
    await limiter.override('acme', { limits: ['3/h'], ...HOUR })
    await limiter.consume('acme', { cost: 3 })
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false })
    await limiter.reset('acme')
    expect(await limiter.consume('acme')).toMatchObject({
      allowed: true,
      limits: [{ quota: 3, remaining: 2 }],
    })
  })

  test('a reservation ends as always after its subject was blocked or got other limits', async () => {
    const [used, unused] = [
      await limiter.reserve('acme', { cost: 4, for: '1min' }),
      await limiter.reserve('acme', { cost: 3, for: '1min' }),
    ]
    await limiter.override('acme', { factor: 2, ...HOUR })
    expect(await leftOf(limiter)).toBe(13)
    await limiter.block('acme', HOUR)
    expect(await used.commit(1)).toBe(1)
    await unused.cancel()
    await limiter.unblock('acme')
    expect(await leftOf(limiter)).toBe(19)
  })

  test('requests in flight go on, and their slots come back', async () => {
    const acme = { id: 'acme', plan: 'pro' }
    const running = [await limiter.consume(acme), await limiter.consume(acme)]
    expect(await limiter.consume(acme)).toMatchObject({ allowed: false })
    await limiter.override('acme', { factor: 0.1, ...HOUR })
    expect((await limiter.peek(acme)).limits).toMatchObject([{ quota: 10 }, { quota: 2, remaining: 0 }])
    await limiter.override('acme', { concurrentFactor: 1.5, ...HOUR })
    running.push(await limiter.consume(acme))
    expect(running[2]).toMatchObject({ allowed: true, limits: [{}, { quota: 3, remaining: 0 }] })
    await limiter.block('acme', HOUR)
    expect(await limiter.consume(acme)).toMatchObject({ allowed: false, source: 'rule' })
    for (const decision of running) decision.release()
    await limiter.unblock('acme')
    await eventually(async () => (await limiter.peek(acme)).limits[1]?.remaining === 3)
    expect(limiter.stats().inFlight).toBe(0)
  })

  test('an override by a blocked plan blocks everywhere, and one by another plan frees a blocked subject', async () => {
    const search = limiter.scope({ group: 'search', limit: '9/min' })
    const exports = limiter.scope({ stacked: { export: '9/min' } })
    await limiter.override('acme', { plan: 'suspended', ...HOUR })
    for (const consumer of [limiter, search, exports]) {
      expect(await consumer.consume('acme')).toMatchObject({ allowed: false, reason: 'blocked' })
      expect(await consumer.consume(['globex', 'acme'])).toMatchObject({ allowed: false, reason: 'blocked' })
    }
    expect(await leftOf(limiter, 'globex')).toBe(10)
    await limiter.override('evil', { plan: 'free', ...HOUR })
    const evil = { id: 'evil', plan: 'suspended' }
    for (const consumer of [limiter, search, exports]) {
      expect(await consumer.consume(evil)).toMatchObject({ allowed: true })
      expect(await consumer.consume(['globex', evil])).toMatchObject({ allowed: true })
    }
    await limiter.override('evil', { factor: 2, ...HOUR })
    expect(await limiter.consume(evil)).toMatchObject({ allowed: false, reason: 'blocked' })
  })

  test('a factor gives at most the largest quota', async () => {
    const large = { id: 'acme', limits: ['1000000000000/h'] }
    await limiter.override('acme', { factor: 1000, ...HOUR })
    expect((await limiter.peek(large)).limits).toMatchObject([{ quota: 1e12 }])
    expect((await limiter.peek({ id: 'acme', limits: ['2000000000/h'] })).limits).toMatchObject([
      { quota: 1e12 },
    ])
  })

  test('a block that is set while a plan is looked up holds for that request', async () => {
    let found = (_plan: string): void => {}
    const asking = bench.limiter({
      ...plans,
      name: 'asking',
      planOf: () => new Promise<string>((resolve) => (found = resolve)),
    } as Partial<LimiterOptions>)
    const asked = [asking.consume('acme')]
    await asking.block('acme', HOUR)
    found('pro')
    expect(await asked[0]).toMatchObject({ allowed: false, source: 'rule' })
    await asking.unblock('acme')
    await asking.override('globex', { factor: 2, ...HOUR })
    const joint = asking.consume(['globex', 'acme'])
    await asking.block('acme', HOUR)
    found('pro')
    expect(await joint).toMatchObject({ allowed: false, source: 'rule' })
  })

  test('replaced plans have the rules that were set before', async () => {
    await limiter.override('acme', { factor: 2, ...HOUR })
    await limiter.override('globex', { plan: 'pro', ...HOUR })
    await limiter.scale('free', 3, HOUR)
    limiter.setPlans({ free: '20/min', team: '7/min' }, { defaultPlan: 'free' })
    expect(await leftOf(limiter)).toBe(120)
    // This process has no plan `pro` any more.
    expect(await leftOf(limiter, 'globex')).toBe(60)
    limiter.setPlans({ free: '1/min', pro: '5/min' }, { defaultPlan: 'free' })
    expect(await leftOf(limiter, 'globex')).toBe(15)
    expect(await leftOf(limiter)).toBe(6)
  })

  test('entries of a later format are left alone', async () => {
    const store = kind === 'memory' ? memoryStore() : undefined
    const own = store ? createLimiter({ limit: '3/min', store }) : bench.limiter({ name: 'later' })
    const list = store?.rules
    if (!list) return own.close()
    const change = { id: 'later-format', key: '^bacme', text: '{"v":2,"kind":"ban"}', end: { inUs: 1e9 } }
    await list.sync({
      known: { version: 0, id: '' },
      changes: [{ ...change, knownAt: 0, keptUntil: 0 }],
      restored: [],
    })
    await own.block('globex', HOUR)
    expect(await own.consume('acme')).toMatchObject({ allowed: true })
    expect(await listed(own)).toMatchObject([{ of: 'globex' }])
    const { entries } = await list.sync({ known: { version: 0, id: '' }, changes: [], restored: [] })
    expect(entries).toMatchObject([{ text: change.text }, { key: '^bglobex' }])
    return own.close()
  })

  // With quotas up to 128: logs of larger ones are less precise, so a change between the two can lose a refund.
  test('whatever rules come and go, units are counted exactly', async () => {
    for (let seed = 1; seed <= cases(3, 60); seed += 1) {
      const random = new Random(seed)
      const id = `tenant-${seed}`
      const taken: Decision[] = []
      for (let i = 0; i < 40; i += 1) {
        await change(limiter, id, random)
        const decision = await limiter.consume(id, { cost: random.int(1, 4) })
        if (decision.allowed) taken.push(decision)
        if (random.chance(0.3) && taken.length > 0) {
          const [one] = taken.splice(random.int(0, taken.length - 1), 1)
          expect(await limiter.refund(one as Decision)).toBe(true)
        }
      }
      for await (const rule of limiter.rules({ of: id })) await rule.lift()
      for await (const rule of limiter.rules()) await rule.lift()
      await limiter.override(id, { factor: 12, ...HOUR })
      const used = taken.reduce((sum, { cost }) => sum + cost, 0)
      expect([seed, await leftOf(limiter, id)]).toEqual([seed, 120 - used])
      for (const one of taken) expect(await limiter.refund(one)).toBe(true)
      expect([seed, await leftOf(limiter, id)]).toEqual([seed, 120])
    }
  })
})

async function change(limiter: Limiter, id: string, random: Random): Promise<unknown> {
  switch (random.int(0, 7)) {
    case 0:
      return limiter.block(id, HOUR)
    case 1:
    case 2:
      return limiter.unblock(id)
    case 3:
      return limiter.override(id, { factor: random.pick([0.1, 2, 3]), ...HOUR })
    case 4:
      return limiter.override(id, { plan: 'team', ...HOUR })
    case 5:
      return limiter.override(id, { limits: ['40/min', '60/h'], ...HOUR })
    case 6:
      return limiter.scale('free', random.pick([0.5, 1, 2]), HOUR)
    default:
      return undefined
  }
}

describe('requests that wait in line', () => {
  let bench: WaitingBench
  beforeEach(() => (bench = new WaitingBench()))
  afterEach(() => bench.end())
  const LINE = { limits: '10/s burst 1', wait: { maxDelay: 1000 } } as const

  test('are denied when their subject is blocked, and their units go back', async () => {
    const limiter = bench.limiter(LINE, { store: bench.store })
    const sent = bench.sendMany(limiter, 4, 'acme')
    const other = bench.sendMany(limiter, 2, 'globex')
    await bench.answersAfter(0, 2)
    const denied = bench.answersAfter(0, 3)
    await limiter.block('acme', { for: '1h', reason: 'abuse' })
    await denied
    for (const { decision } of sent.slice(1)) {
      expect(decision).toMatchObject({
        allowed: false,
        source: 'rule',
        block: { of: 'acme', reason: 'abuse' },
      })
    }
    expect(other[1]?.decision).toBeUndefined()
    expect(limiter.stats().waiting).toMatchObject({ now: 1, blocked: 3 })
    await limiter.unblock('acme')
    // The place after the first request's unit is free again.
    const next = bench.send(limiter, 'next', 'acme')
    await bench.answersAfter(100, 2)
    expect(next.decision).toMatchObject({ allowed: true, waitedMs: 100 })
  })

  test('are denied when any of their subjects is blocked, also one without limits', async () => {
    const limiter = bench.limiter(LINE, {
      store: bench.store,
      plans: { batch: LINE, internal: 'unlimited' },
      defaultPlan: 'batch',
    } as never)
    const both = ['acme', { id: 'ops', plan: 'internal' }] as never
    const sent = bench.sendMany(limiter, 3, both)
    await bench.answersAfter(0, 1)
    const denied = bench.answersAfter(0, 2)
    await limiter.block('ops', HOUR)
    await denied
    expect(sent.map(({ decision }) => decision?.source)).toEqual(['store', 'rule', 'rule'])
  })
})
