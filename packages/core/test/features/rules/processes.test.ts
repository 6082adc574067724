// What one process takes, remembers and looks up, while another sets and lifts rules.
import { eventually, hearCommands, testPrefix, testRedisUrl } from '@tollgate/testing'
import {
  createLimiter,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type RuleChanged,
  type Store,
} from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { listed, redisBench, type RuleBench } from './rule-bench.js'

afterAll(closeBenches)

const HOUR = { for: '1h' } as const
const plans = { plans: { free: '10/min', pro: '100/min' }, defaultPlan: 'free', limit: undefined } as const

describe('in two processes', () => {
  let bench: RuleBench
  beforeEach(() => (bench = redisBench()))
  afterEach(() => bench.close())

  test('a place that is booked while the block is set is given up at once', async () => {
    // It would come after a minute.
    const line = {
      plans: { free: { limits: '1/min burst 1', wait: { maxDelay: '1min' } } },
      limit: undefined,
    }
    const limiter = bench.limiter(line as Partial<LimiterOptions>)
    await limiter.consume('acme')
    const asked = limiter.consume('acme')
    const blocked = limiter.block('acme', HOUR)
    expect(await asked).toMatchObject({ allowed: false, source: 'rule' })
    await blocked
    expect(limiter.stats().waiting).toMatchObject({ now: 0, booked: 1, blocked: 1 })
  })

  test('units on lease go back when a block or an override is set there', async () => {
    // In a bucket, units would come back by themselves.
    const limits = { quota: 6000, window: '1d', algorithm: 'fixed-window' }
    const big = { plans: { free: { limits, lease: true } }, limit: undefined }
    const [here, there] = [
      bench.limiter(big as Partial<LimiterOptions>),
      bench.limiter(big as Partial<LimiterOptions>, 'there'),
    ]
    let used = 0
    const busy = async (): Promise<void> => {
      await eventually(async () => {
        const decisions = await Promise.all(Array.from({ length: 20 }, () => here.consume('acme')))
        used += decisions.filter(({ allowed }) => allowed).length
        return decisions.some(({ source }) => source === 'lease')
      })
    }
    await busy()
    await there.block('acme', HOUR)
    await eventually(async () => !(await here.consume('acme')).allowed || ((used += 1), false))
    await there.unblock('acme')
    // A process that gets no time loses units: the lease ends before it can give them back.
    const lost = (): number => here.stats().leases.lost
    await eventually(async () => (await there.peek('acme')).limits[0]?.remaining === 6000 - used - lost())
  })

  test('a denial that was remembered ends when another process sets an override', async () => {
    const [here, there] = [bench.limiter(), bench.limiter({}, 'there')]
    for (let i = 0; i < 4; i += 1) await here.consume('acme')
    expect(await here.consume('acme')).toMatchObject({ allowed: false, source: 'cache' })
    await there.override('acme', { factor: 2, ...HOUR })
    await eventually(async () => (await here.peek('acme')).override === true)
    expect(await here.consume('acme')).toMatchObject({ allowed: true, limits: [{ quota: 6, remaining: 2 }] })
    await there.override('acme', { factor: 1, ...HOUR })
    await eventually(async () => (await here.peek('acme')).limits[0]?.quota === 3)
    expect(await here.consume('acme')).toMatchObject({ allowed: false })
  })

  test('a flood of a blocked subject sends nothing to the store', async () => {
    const limiter = bench.limiter({ denials: false } as Partial<LimiterOptions>)
    await limiter.block('blocked-flood', HOUR)
    const heard = await hearCommands(testRedisUrl())
    const scope = limiter.scope({ stacked: { export: '5/min' } })
    for (let i = 0; i < 2000; i += 1) {
      expect((await limiter.consume('blocked-flood')).allowed).toBe(false)
      expect((await scope.consume(['flooding-user', 'blocked-flood'])).allowed).toBe(false)
    }
    await limiter.consume('after-the-flood')
    await eventually(() => heard.text().includes('/after-the-flood'))
    heard.stop()
    expect(heard.text()).not.toMatch(/\/(?:blocked-flood|flooding-user)/)
  })

  test('what is looked up after a plan was forgotten everywhere is not forgotten again here', async () => {
    let lookUps = 0
    const planOf = (): string => (lookUps++ === 0 ? 'free' : 'pro')
    const limiter = bench.limiter({ ...plans, planOf, warnings: false } as Partial<LimiterOptions>)
    await eventually(() => limiter.health().rules === 'current')
    await limiter.peek('acme')
    const written = limiter.forgetPlan('acme', { everywhere: true })
    expect((await limiter.peek('acme')).plan).toBe('pro')
    await written
    // Once this one is read, all before it are.
    await (await limiter.block('mark', HOUR)).lift()
    expect([(await limiter.peek('acme')).plan, lookUps]).toEqual(['pro', 2])
  })

  test.each([undefined, 'a secret of 32 characters, or more'])(
    'a plan that is forgotten everywhere is looked up again there, with hashIds %p',
    async (hashIds) => {
      const plan: Record<string, string> = {}
      const waiting: (() => void)[] = []
      let isSlow = false
      const planOf = ({ id }: { id: string }): string | Promise<string> => {
        const known = plan[id] ?? 'free'
        return isSlow ? new Promise((resolve) => waiting.push(() => resolve(known))) : known
      }
      const options = {
        ...plans,
        planOf,
        ...(hashIds && { hashIds }),
        warnings: false,
      } as Partial<LimiterOptions>
      const [here, there] = [bench.limiter(options), bench.limiter(options, 'there')]
      const ids = ['acme', '192.0.2.7', 'trial-*', 'a\nb']
      const planIn = async (limiter: Limiter, id: string): Promise<string> =>
        (await limiter.peek({ id })).plan
      for (const id of ids)
        expect([await planIn(here, id), await planIn(there, id)]).toEqual(['free', 'free'])
      for (const id of ids) {
        plan[id] = 'pro'
        await here.forgetPlan({ id }, { everywhere: true })
        expect(await planIn(here, id)).toBe('pro')
        await eventually(async () => expect([id, await planIn(there, id)]).toEqual([id, 'pro']))
      }
      // A look-up under way may have read the database before the change.
      isSlow = true
      const asked = there.peek('slow')
      await eventually(() => waiting.length > 0)
      isSlow = false
      plan['slow'] = 'pro'
      await here.forgetPlan('slow', { everywhere: true })
      const mark = await here.block('mark', HOUR)
      await eventually(async () => !(await there.peek('mark')).allowed)
      for (const answer of waiting) answer()
      expect((await asked).plan).toBe('free')
      expect(await planIn(there, 'slow')).toBe('pro')
      await mark.lift()
      expect(await listed(here)).toEqual([])
    },
    20_000,
  )
})

test('texts of a later version, or from anybody else, stop no reading of the list', async () => {
  const prefix = testPrefix()
  const store = redisStore(redisOfAnotherProcess(), { prefix })
  const limiter = createLimiter({
    limit: '3/min',
    store: redisStore(redisOfAnotherProcess(), { prefix }),
    deadlineMs: 30_000,
  })
  await eventually(() => limiter.health().rules === 'current')
  const heard: RuleChanged[] = []
  limiter.on('rule', (change) => heard.push(change))
  const texts = [
    JSON.stringify({ v: 2, kind: 'block', of: 'later' }),
    JSON.stringify({ v: 1, kind: 'block', of: 'long', by: 'x'.repeat(5000), reason: 7 }),
    JSON.stringify({ v: 1, kind: 'override', of: 'odd', limits: ['no limit'], factor: 'two' }),
    'no JSON',
  ]
  const rules = store.rules as NonNullable<Store['rules']>
  await rules.sync({
    known: { version: 0, id: '' },
    changes: texts.map((text, i) => ({
      ...{ id: `change-id-0${i}`, key: `^b${['later', 'long', 'odd', 'text'][i]}`, text },
      ...{ end: { inUs: 3_600_000_000 }, knownAt: 0, keptUntil: 0 },
    })),
    restored: [],
  })
  await eventually(() => expect(heard.map(({ rule }) => rule.of)).toContain('long'))
  expect((await limiter.consume('long')).source).toBe('rule')
  expect(heard.find(({ rule }) => rule.of === 'long')?.reason).toBeUndefined()
  expect((await limiter.consume('later')).allowed).toBe(true)
  const rule = await limiter.block('acme', HOUR)
  expect(await rule.lift()).toBe(true)
  expect(limiter.health().rules).toBe('current')
  await limiter.close()
})
