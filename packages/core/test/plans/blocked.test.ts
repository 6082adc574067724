// A plan that is 'blocked' lets nothing pass, asks no store, and takes nothing from anyone else.
import {
  createLimiter,
  memoryStore,
  type Decision,
  type LimiterOptions,
  type Store,
} from '../../src/index.js'
import { closeBenches, jointBenches, START_MS, type Bench } from '../support/benches.js'
import { clusterStore, idsApart } from '../support/shards.js'
import { asyncStore } from '../support/stores.js'

afterAll(closeBenches)

const PLANS = { free: '5/min', team: '9/min', staff: 'unlimited', suspended: 'blocked' } as const
const BLOCKED = {
  allowed: false,
  limits: [],
  violated: [],
  retryAfterMs: null,
  reason: 'blocked',
  source: 'blocked',
}
const cluster: Bench = {
  store: 'a cluster' as Bench['store'],
  limiter: (options, clock) =>
    createLimiter({ ...options, store: clusterStore({}, memoryStore({ now: () => clock.now })) }),
}
const [ORG, USER] = idsApart(2) as [string, string]
const options: LimiterOptions = { plans: PLANS, defaultPlan: 'free' }

describe.each([...jointBenches, cluster])('on $store', (bench) => {
  const clock = { now: START_MS }
  const leftOf = async (decision: Promise<Decision> | Decision): Promise<number | undefined> =>
    (await decision).limits[0]?.remaining

  test('every request of a subject on it is denied, and looks denied', async () => {
    const limiter = bench.limiter(options, clock)
    const subject = { id: 'acme', plan: 'suspended' }
    for (const cost of [1, 100]) {
      const decision = { ...BLOCKED, subject, plan: 'suspended', cost }
      expect({ ...(await limiter.consume(subject, { cost })) }).toEqual(decision)
      expect({ ...(await limiter.peek(subject, { cost })) }).toEqual(decision)
    }
    expect((await limiter.consume({ id: 'acme', plan: 'free' })).allowed).toBe(true)
  })

  test.each([
    ['first', 0],
    ['second', 1],
  ])('of several subjects the %s one denies for all, and nothing is taken', async (_, at) => {
    const limiter = bench.limiter(options, clock)
    const other = { id: ORG, plan: 'team' }
    const blocked = { id: USER, plan: 'suspended' }
    const subjects = at === 0 ? [blocked, other] : [other, blocked]
    expect(await limiter.consume(subjects)).toMatchObject({ ...BLOCKED, subject: subjects[0] })
    expect(await limiter.peek(subjects)).toMatchObject(BLOCKED)
    expect(await leftOf(limiter.peek(other))).toBe(9)
  })

  test('it holds in groups that have limits of their own, and stacked limits are not taken', async () => {
    const limiter = bench.limiter(options, clock)
    const logins = limiter.scope({ group: 'login', limit: '3/min' })
    const exports = limiter.scope({ stacked: { export: '2/min' } })
    const both = [
      { id: ORG, plan: 'team' },
      { id: USER, plan: 'suspended' },
    ]
    for (const scope of [logins, exports]) {
      expect(await scope.consume({ id: USER, plan: 'suspended' })).toMatchObject(BLOCKED)
      expect(await scope.consume(both)).toMatchObject(BLOCKED)
    }
    expect(await leftOf(logins.peek({ id: ORG, plan: 'team' }))).toBe(3)
  })

  test('settle and refund have nothing to do', async () => {
    const limiter = bench.limiter(options, clock)
    const decision = await limiter.consume({ id: 'acme', plan: 'suspended' })
    expect([await limiter.settle(decision, 5), await limiter.refund(decision)]).toEqual([0, false])
  })
})

test('it is told as an event and counted, and the store is not asked', async () => {
  const asked = jest.fn()
  const store: Store = asyncStore({ consume: asked, peek: asked }, memoryStore())
  const limiter = createLimiter({ ...options, store })
  const told: string[] = []
  limiter.on('decision', ({ reason }) => told.push(`decision ${reason}`))
  limiter.on('limited', ({ reason }) => told.push(`limited ${reason}`))
  await limiter.consume({ id: 'acme', plan: 'suspended' })
  await limiter.peek({ id: 'acme', plan: 'suspended' })
  expect(told).toEqual(['decision blocked', 'limited blocked'])
  expect(limiter.stats().decisions.blocked).toEqual({ allowed: 0, denied: 1 })
  expect(asked).not.toHaveBeenCalled()
})

test('planOf and setPlans block and let in again', async () => {
  let plan = 'suspended'
  const limiter = createLimiter({ ...options, planOf: () => plan, planCache: { ttlMs: 0, staleMs: 0 } })
  expect(await limiter.consume('acme')).toMatchObject(BLOCKED)
  plan = 'free'
  limiter.forgetPlan('acme')
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true, plan: 'free' })
  limiter.setPlans({ free: '5/min', team: 'blocked' })
  expect(await limiter.consume({ id: 'b', plan: 'team' })).toMatchObject(BLOCKED)
  limiter.setPlans({ free: '5/min', team: '9/min' })
  expect(await limiter.consume({ id: 'b', plan: 'team' })).toMatchObject({ allowed: true })
})

test('it is never the default plan, also where another is the only one with limits', async () => {
  const limiter = createLimiter({ plans: { suspended: 'blocked', free: '5/min' } })
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true, plan: 'free' })
  expect(() => createLimiter({ ...options, defaultPlan: 'suspended' })).toThrow(
    "defaultPlan: got 'suspended', expected the name of a plan that has limits: 'free', 'team'",
  )
})

test.each<[LimiterOptions, path: string, problem: string]>([
  [{ plans: { a: ['5/min', 'blocked'] } }, 'plans.a[1]', "'blocked' is a plan by itself"],
  [{ plans: { a: ['unlimited', '5/min'] } }, 'plans.a[0]', "write 'unlimited', not a list"],
  [
    { limit: 'blocked' },
    'limit',
    "to deny all requests write plans: { free: '100/min', suspended: 'blocked' }",
  ],
  [{ plans: { a: 'blocked', b: 'unlimited' } }, 'plans', 'at least one plan with limits'],
  [{ limit: '0/min' }, 'limit', "a plan that lets nothing pass is plans: { suspended: 'blocked' }"],
])('%j is refused', (given, path, problem) => {
  expect(() => createLimiter(given)).toThrow(
    expect.objectContaining({ path, problem: expect.stringContaining(problem) }),
  )
})

test.each([
  [{ group: 'g', limit: 'blocked' }, 'limit'],
  [{ stacked: { s: 'blocked' } }, 'stacked.s'],
])('a part of the application is not blocked: %j', (scope, path) => {
  expect(() => createLimiter(options).scope(scope)).toThrow(
    expect.objectContaining({ path, problem: expect.stringContaining("'blocked' is a plan") }),
  )
})

test('a plan in the long form can be blocked, too', async () => {
  const limiter = createLimiter({ plans: { free: '5/min', out: { limits: 'blocked' } } })
  expect(await limiter.consume({ id: 'acme', plan: 'out' })).toMatchObject(BLOCKED)
})
