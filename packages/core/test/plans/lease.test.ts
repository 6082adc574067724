// The option `lease`: where it can stand, what it comes to, and what is refused.
import { createLimiter, memoryStore, type LimiterOptions, type PlanInput } from '../../src/index.js'
import type { LeaseTerms } from '../../src/plans/limit/limit-set.js'
import { createLimitSet } from '../../src/plans/limit/limit.js'
import { compilePlan } from '../../src/plans/plan.js'
import { asyncStore } from '../support/stores.js'

const termsOf = (plan: PlanInput): LeaseTerms | undefined => compilePlan('pro', plan, 'plans.pro').set?.lease

describe('the terms of leases', () => {
  const BUCKET = '50/s burst 100'
  test.each<[plan: PlanInput, lengthMs: number, share: number, lagMs: number]>([
    // defaults
    [{ limits: '6000/min', lease: true }, 500, 0.25, 0],
    [{ limits: '6000/min', lease: {} }, 500, 0.25, 0],
    [{ limits: '6000/min', lease: { maxMs: 50, maxShare: 1 } }, 50, 1, 0],
    // short windows make leases shorter, those of buckets do not
    [{ limits: '6000/2s', lease: true }, 62.5, 0.25, 0],
    [{ limits: ['6000/min', '500/10s'], lease: true }, 312.5, 0.25, 0],
    [{ limits: [BUCKET, '20000/min'], lease: true }, 500, 0.25, 0],
    [{ limits: '64/1600ms', lease: true }, 50, 0.25, 0],
    // longer ones for those who say so
    [{ limits: '6000/s', lease: { maxMs: 200 } }, 200, 0.25, 0],
    [{ limits: '6000/100ms', lease: { maxMs: 100 } }, 100, 0.25, 0],
    [{ limits: '100/20ms burst 100', lease: true }, 20, 0.25, 0],
    [{ limits: '5000000/month', lease: true }, 500, 0.25, 0],
    // smooth
    [{ limits: '6000/s', lease: { mode: 'smooth' } }, 500, 0.25, 500],
    [{ limits: '6000/s', lease: { mode: 'smooth', maxMs: 1000 } }, 1000, 0.25, 1000],
    [{ limits: '6000/200ms', lease: { mode: 'smooth' } }, 200, 0.25, 200],
    // on a limit
    [{ quota: 6000, window: 'min', lease: true }, 500, 0.25, 0],
    [['500/10s', { quota: 6000, window: 'min', lease: true }], 312.5, 0.25, 0],
    [{ limits: [BUCKET, { quota: 6000, window: 'min', lease: { maxMs: 90 } }] }, 90, 0.25, 0],
    // said twice, but the same
    [{ limits: [{ quota: 6000, window: 'min', lease: true }], lease: true }, 500, 0.25, 0],
    // just large enough
    [{ limits: '64/min', lease: true }, 500, 0.25, 0],
    [{ limits: '16/min', lease: { maxShare: 1 } }, 500, 1, 0],
    [{ limits: { quota: 100, window: 'min', precision: '1ms' }, lease: true }, 500, 0.25, 0],
  ])('%j', (plan, lengthMs, share, lagMs) => {
    expect(termsOf(plan)).toEqual({ lengthUs: lengthMs * 1000, share, lagUs: lagMs * 1000 })
  })

  test.each<[PlanInput]>([
    ['6000/min'],
    [{ limits: '6000/min', lease: false }],
    [{ quota: 6000, window: 'min', lease: false }],
    [{ limits: '5/min', lease: false }],
    [{ limits: 'unlimited', lease: false }],
  ])('%j has none', (plan) => {
    expect(termsOf(plan)).toBeUndefined()
  })

  test('of the limits of a store test are the same', () => {
    const [leased, plain] = [{ quota: 6000, window: 'min', lease: true }, '500/10s']
    expect(createLimitSet(leased, plain).lease).toEqual(termsOf([leased, plain]))
    expect(createLimitSet(plain).lease).toBeUndefined()
  })
})

describe('what is refused', () => {
  const leased = { quota: 6000, window: 'min', lease: true } as const
  test.each<[plan: unknown, message: string]>([
    // options
    [
      { limits: '6000/min', lease: 'yes' },
      "lease: got 'yes', expected true, false, or an object of options, such as { maxMs: 200 }",
    ],
    [
      { limits: '6000/min', lease: null },
      'lease: got null, expected true, false, or an object of options, such as { maxMs: 200 }',
    ],
    [
      { limits: '6000/min', lease: { maxms: 50 } },
      'lease.maxms: there is no such option here; did you mean maxMs?',
    ],
    [
      { limits: '6000/min', lease: { ttl: 50 } },
      'lease.ttl: there is no such option here; there are maxMs, maxShare, mode',
    ],
    [
      { limits: '6000/min', lease: { mode: 'fast' } },
      "lease.mode: got 'fast', expected one of 'exact', 'smooth'",
    ],
    [{ limits: '6000/min', leases: true }, 'leases: there is no such option here; did you mean lease?'],
    ...[9, 1001, 50.5, '50', Number.NaN, null].map((maxMs): [unknown, string] => [
      { limits: '6000/min', lease: { maxMs } },
      `lease.maxMs: got ${typeof maxMs === 'string' ? "'50'" : maxMs}, expected a whole number of ms from 10 to 1000, such as 200`,
    ]),
    ...[0, -0.5, 1.01, '1', Number.NaN, null].map((maxShare): [unknown, string] => [
      { limits: '6000/min', lease: { maxShare } },
      `lease.maxShare: got ${typeof maxShare === 'string' ? "'1'" : maxShare}, expected a number from 0.001 to 1, such as 0.25`,
    ]),
    // no limits
    [
      { limits: 'unlimited', lease: true },
      'lease: this plan has no limits, so there is nothing to lease: leave lease out',
    ],
    [
      { limits: 'blocked', lease: {} },
      'lease: this plan has no limits, so there is nothing to lease: leave lease out',
    ],
    // too small
    [
      { limits: ['6000/min', '50/s'], lease: true },
      "lease: the limit 'second' has 50 units, so a lease has at most 12 (maxShare 0.25), and below 16 it saves nothing: leave lease out, or write a limit of at least 64 units or maxShare: 0.32",
    ],
    [
      { limits: '5/min', lease: { maxShare: 0.5 } },
      "lease: the limit 'minute' has 5 units, so a lease has at most 2 (maxShare 0.5), and below 16 it saves nothing: leave lease out, or write a limit of at least 32 units",
    ],
    [
      { limits: '1000/s burst 20', lease: true },
      "lease: the limit 'second' has 20 units, so a lease has at most 5 (maxShare 0.25), and below 16 it saves nothing: leave lease out, or write a limit of at least 64 units or maxShare: 0.8",
    ],
    // windows
    [
      { limits: '2000/s', lease: true },
      "lease: a lease of the limit 'second' would last 31 ms, 1/32 of its window, which saves little: write a token bucket, such as '2000/s burst 4000', whose leases may be longer, or a window of at least 1600 ms, or lease: { maxMs: 100 }, with which units come back up to 100 ms late and up to 10 % fewer are handed out",
    ],
    [
      { limits: ['6000/min', '6000/9ms'], lease: true },
      "lease: the window of the limit '9-ms' is too short: a lease lasts at least 10 ms: leave lease out, or write a longer window",
    ],
    [
      { limits: '100/9ms burst 100', lease: true },
      "lease: the window of the limit '9-ms' is too short: a lease lasts at least 10 ms: leave lease out, or write a longer window",
    ],
    [
      { limits: ['6000/min', '6000/200ms'], lease: { mode: 'smooth', maxMs: 201 } },
      "lease.maxMs: got 201, but the window of the limit '200-ms' is 200 ms: write at most that, or leave maxMs out",
    ],
    // said twice
    [
      { limits: ['500/10s', leased], lease: { maxMs: 50 } },
      'limits[1].lease: this differs from plans.pro.lease, and all limits of a plan are leased together: write it once, on the plan: { limits: [...], lease: true }',
    ],
    [
      { limits: leased, lease: false },
      'limits.lease: this differs from plans.pro.lease, and all limits of a plan are leased together: write it once, on the plan: { limits: [...], lease: true }',
    ],
    // on a limit
    [
      { ...leased, quota: 20 },
      "lease: the limit 'minute' has 20 units, so a lease has at most 5 (maxShare 0.25), and below 16 it saves nothing: leave lease out, or write a limit of at least 64 units or maxShare: 0.8",
    ],
    [{ ...leased, lease: { mode: 'even' } }, "lease.mode: got 'even', expected one of 'exact', 'smooth'"],
  ])('%j', (plan, message) => {
    const refused = expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', message: `plans.pro.${message}` })
    const plans = { free: '5/min', pro: plan } as LimiterOptions['plans'] & object
    expect(() => createLimiter({ plans })).toThrow(refused)
    const limiter = createLimiter({ plans: { free: '5/min' } })
    expect(() => limiter.setPlans(plans)).toThrow(refused)
  })

  test('in a list the path has its place', () => {
    const plans = { pro: ['500/10s', leased, { quota: 9000, window: 'h', lease: { maxMs: 50 } }] }
    expect(() => createLimiter({ plans })).toThrow('plans.pro[2].lease: this differs from plans.pro[1].lease')
    const lease = { maxMs: 1 }
    expect(() => createLimiter({ limit: ['500/10s', { ...leased, lease }] })).toThrow(
      'limit[1].lease.maxMs: got 1',
    )
  })
})

describe('places of an application', () => {
  const leased = { quota: 6000, window: 'min', lease: true } as const
  const limiter = createLimiter({ limit: '100/min' })

  test('can lease', async () => {
    const places = [limiter.scope({ group: 'a', limit: leased }), limiter.scope({ stacked: { b: [leased] } })]
    for (const place of places) expect(await place.consume('acme')).toMatchObject({ allowed: true })
  })

  test('check what they lease', () => {
    const small = { ...leased, quota: 5 }
    expect(() => limiter.scope({ group: 'c', limit: small })).toThrow("limit.lease: the limit 'minute' has 5")
    expect(() => limiter.scope({ stacked: { export: small } })).toThrow('stacked.export.lease: the limit')
  })

  test('with one name must say the same', () => {
    limiter.scope({ group: 'd', limit: leased })
    limiter.scope({ group: 'd', limit: { ...leased } })
    expect(() => limiter.scope({ group: 'd', limit: '6000/min' })).toThrow(
      'has an object with quota, window, lease already',
    )
  })
})

describe('stores', () => {
  const plans = { free: '5/min', pro: { limits: '6000/min', lease: true } } as const
  const leased = { quota: 6000, window: 'min', lease: true } as const
  const REMEDY = 'this store grants no leases: leave lease out, or use redisStore'
  const store = { ...asyncStore({}), leases: false }

  test('that grant none refuse plans with leases', () => {
    expect(() => createLimiter({ store, plans })).toThrow(`plans.pro: ${REMEDY}`)
    expect(() => createLimiter({ store, limit: leased })).toThrow(`limit: ${REMEDY}`)
    const limiter = createLimiter({ store, limit: '100/min' })
    expect(() => limiter.scope({ group: 'a', limit: leased })).toThrow(`limit: ${REMEDY}`)
    expect(() => limiter.scope({ stacked: { b: leased } })).toThrow(`stacked.b: ${REMEDY}`)
    const other = createLimiter({ store: { ...store }, plans: { free: '5/min' } })
    expect(() => other.setPlans(plans)).toThrow(`plans.pro: ${REMEDY}`)
  })

  test('that grant leases take them', () => {
    const limiter = createLimiter({ store: { ...asyncStore({}), leases: true }, plans })
    expect(limiter.health().status).toBe('ok')
  })

  test('in memory count as without: the same plans work in development', async () => {
    const limiter = createLimiter({ store: memoryStore(), plans })
    const decision = await limiter.consume({ id: 'acme', plan: 'pro' })
    expect(decision).toMatchObject({ allowed: true, source: 'store', limits: [{ remaining: 5999 }] })
  })
})
