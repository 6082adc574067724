// What an error about options tells somebody to type: the option that was meant, where it goes, or what replaces that
// of another package, made from the numbers that were given.
import { createHttpLimiter } from '../../src/adapter.js'
import { createLimiter, memoryStore, type LimiterOptions } from '../../src/index.js'
import { HTTP_OPTIONS } from '../../src/http/option-checks.js'
import { LIMITER_OPTIONS } from '../../src/limiter/options/limiter-options.js'
import { nearestOf } from '../../src/base/options.js'

const rateLimit = (options?: unknown): unknown => createHttpLimiter({} as never, options as never)
const limiter = createLimiter({ limit: '5/min' })
const asLimiter = (options?: unknown): unknown => createLimiter(options as LimiterOptions)

describe('options of other packages', () => {
  test.each<[options: object, message: string]>([
    [
      { windowMs: 15 * 60_000, max: 100 },
      "windowMs: an option of express-rate-limit; write limit: '100/15min' in place of windowMs and max (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/express-rate-limit.md)",
    ],
    [
      { windowMs: 60_000, limit: 100, keyGenerator: () => 'a', standardHeaders: true, legacyHeaders: false },
      "windowMs: an option of express-rate-limit; write limit: '100/min' in place of windowMs and limit, identify: (req) => ... in place of keyGenerator, headers: { standard: true } in place of standardHeaders, headers: { legacy: 'epoch' } in place of legacyHeaders (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/express-rate-limit.md)",
    ],
    [
      { windowMs: 1000, max: () => 5 },
      "windowMs: an option of express-rate-limit; write a limit such as limit: '100/s' in place of windowMs and max (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/express-rate-limit.md)",
    ],
    [
      { timeWindow: '1 hour', max: 1000 },
      "timeWindow: an option of @fastify/rate-limit; write limit: '1000/h' in place of timeWindow and max (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/fastify-rate-limit.md)",
    ],
    [
      { points: 6, duration: 1 },
      "points: an option of rate-limiter-flexible; write limit: '6/s' in place of points and duration (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/rate-limiter-flexible.md)",
    ],
    [
      { storeClient: {}, points: 10, duration: 3600, blockDuration: 60, keyPrefix: 'app' },
      "storeClient: an option of rate-limiter-flexible; write limit: '10/h' in place of points and duration and blockDuration, store: redisStore(client) in place of storeClient, store: redisStore(client, { prefix: 'myapp' }) in place of keyPrefix (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/rate-limiter-flexible.md)",
    ],
    [
      { driver: 'redis', db: {}, duration: 60_000, max: 100 },
      "driver: an option of koa-ratelimit; write limit: '100/min' in place of duration and max, store: redisStore(client) in place of driver and db (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/koa-ratelimit.md)",
    ],
    [
      { execEvenly: true },
      "execEvenly: an option of rate-limiter-flexible; put it into a plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } } (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/rate-limiter-flexible.md)",
    ],
    [
      { windowMs: 1000, validate: false, passOnStoreError: true, requestPropertyName: 'limit' },
      "windowMs: an option of express-rate-limit; write a limit such as limit: '100/s' in place of windowMs, onStoreFailure: 'open' in place of passOnStoreError, requestProperty: 'apiLimit' in place of requestPropertyName (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/migrate-from/express-rate-limit.md)",
    ],
    [
      { max: 7 },
      "max: an option of another package; write limit: '7/min' in place of max (all others: https://github.com/tollgate-js/tollgate/blob/main/docs/README.md#moving-from)",
    ],
  ])('%j', (options, message) => {
    expect(() => rateLimit(options)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', message }),
    )
    expect(() => asLimiter(options)).toThrow(message)
  })
})

describe('an option that does not exist', () => {
  test.each<[make: (options: unknown) => unknown, options: object, message: string]>([
    [
      rateLimit,
      { limit: '5/min', identfy: 1 },
      'identfy: there is no such option here; did you mean identify?',
    ],
    [
      asLimiter,
      { limit: '5/min', default_plan: 1 },
      'default_plan: there is no such option here; did you mean defaultPlan?',
    ],
    [
      asLimiter,
      { limit: '5/min', nonsense: 1 },
      'nonsense: there is no such option here; all options are at https://github.com/tollgate-js/tollgate/blob/main/docs/reference/options.md',
    ],
    [
      (options) => createHttpLimiter({} as never, { limiter }).route(options as never),
      { stack: { export: '5/min' } },
      "stack: there is no such option here; write stacked: { export: '5/min' }",
    ],
    [
      rateLimit,
      { limt: '5/min', indentify: 1, nonsense: 1, more: 1, evenMore: 1 },
      'limt: there is no such option here; did you mean limit?; indentify: there is no such option here; did you mean identify?; nonsense: there is no such option here; all options are at https://github.com/tollgate-js/tollgate/blob/main/docs/reference/options.md; and 2 more',
    ],
    [
      asLimiter,
      { limit: '5/min', ['x\n'.repeat(300)]: 1 },
      `['${'x?'.repeat(37)}x...']: there is no such option here; all options are at https://github.com/tollgate-js/tollgate/blob/main/docs/reference/options.md`,
    ],
    [
      (options) => limiter.consume('acme', options as never),
      { weight: 2 },
      'weight: there is no such option here; there are cost, context, signal',
    ],
    [
      (options) => limiter.consume('acme', options as never),
      5 as never,
      'options: got 5, expected an object of options, such as { cost: 5 }',
    ],
    [
      asLimiter,
      { limit: { quota: 5, windowMs: 1000 } },
      "limit.windowMs: there is no such option here; write window: '15 min', or a number of ms",
    ],
    [
      (options) => memoryStore(options as never),
      { maxKeys: 1 },
      'memoryStore.maxKeys: there is no such option here; there are maxSubjects, now',
    ],
  ])('%# %j', (make, options, message) => {
    expect(() => make(options)).toThrow(expect.objectContaining({ message }))
  })
})

describe('an option that goes elsewhere', () => {
  test.each<[options: object, path: string, remedy: string]>([
    [
      { identify: () => 'a' },
      'identify',
      "pass it to an adapter's rateLimit: rateLimit({ limiter, identify })",
    ],
    [{ headers: false }, 'headers', "pass it to an adapter's rateLimit"],
    [{ cost: 5 }, 'cost', 'limiter.consume(subject, { cost })'],
    [{ group: 'a' }, 'group', "limiter.scope({ group: 'search' })"],
    [{ prefix: 'a' }, 'prefix', 'redisStore(client, { prefix: ... })'],
    [{ lease: true }, 'lease', "plans: { pro: { limits: '6000/min', lease: true } }"],
    [{ ttlMs: 5 }, 'ttlMs', 'planCache: { ttlMs: 60000'],
    [{ hook: 'onRequest' }, 'hook', 'app.register(rateLimit, { hook })'],
    [
      { quota: 5, window: '2 min' },
      'quota',
      "`quota` and `window` are parts of a limit: write limit: { quota: 5, window: '2 min' }",
    ],
  ])('createLimiter: %p', (options, path, remedy) => {
    expect(() => asLimiter({ limit: '5/min', ...options })).toThrow(
      expect.objectContaining({ path, problem: expect.stringContaining(remedy) }),
    )
  })

  test('every option that only HTTP has is told apart from a typo', () => {
    for (const name of HTTP_OPTIONS) {
      expect([name, nearestOf(name, LIMITER_OPTIONS)]).toEqual([name, undefined])
      expect(() => asLimiter({ limit: '5/min', [name]: 1 })).toThrow('pass it to ')
    }
  })

  test('those of the limiter at one place', () => {
    const http = createHttpLimiter({} as never, { limit: '5/min' })
    expect(() => http.route({ deadlineMs: 5 } as never, 'config.rateLimit')).toThrow(
      'config.rateLimit.deadlineMs: there is no such option here; pass it where the limiter is made',
    )
  })
})

describe('options that exclude each other', () => {
  test.each<[options: object, message: string]>([
    [
      { plans: { free: '5/min' }, limit: '5/min' },
      'limit: `limit` cannot be combined with `plans`: make it a plan, or leave it out',
    ],
    [
      { limit: '5/min', defaultPlan: 'free' },
      'defaultPlan: `defaultPlan` cannot be combined with `limit`, which is the only plan: leave it out',
    ],
    [
      { limiter: Object.assign(() => {}, { limiter }) },
      'limiter: got a middleware: pass its limiter: { limiter: thatMiddleware.limiter }',
    ],
    [
      { limiter, plans: { free: '5/min' } },
      'plans: `plans` cannot be combined with `limiter`: pass it to createLimiter({ plans }), which makes the limiter',
    ],
    [
      { limiter, store: memoryStore() },
      'store: `store` cannot be combined with `limiter`: pass it to createLimiter({ store }), which makes the limiter',
    ],
    [
      { limiter, limit: '5/min' },
      "group: a `limit` here needs a name for its counters, such as group: 'search'; a limit for everyone goes to createLimiter({ limit })",
    ],
    [
      { limit: '5/min', planCache: {} },
      'planCache: it caches the answers of planOf, and there is no planOf: set both or neither',
    ],
    [
      { limit: { quota: 5, window: 'min', algorithm: 'sliding-log', burst: 9 } },
      "limit.burst: got 9, but only a token-bucket has burst, and this limit is a sliding-log: leave it out, or write algorithm: 'token-bucket'",
    ],
  ])('%# %p', (options, message) => {
    expect(() => rateLimit(options)).toThrow(expect.objectContaining({ message }))
  })
})

describe('no limit at all', () => {
  const nothing = "no limit was given: write limit: '100/min', or plans: { free: '100/min', pro: '1000/min' }"
  test.each<[options: unknown, message: string]>([
    [{}, nothing],
    [{ identify: () => 'a' }, nothing],
    [
      { limit: undefined },
      "limit: got undefined, expected '100/min', or plans: { free: '100/min', pro: '1000/min' }",
    ],
    [
      { plans: undefined },
      "plans: got undefined, expected plans by name, such as { free: '100/min', pro: '1000/min' }",
    ],
    [
      undefined,
      "options: got undefined, expected an object of options, such as rateLimit({ limit: '100/min' })",
    ],
    ['5/min', "options: got '5/min', expected an object of options: rateLimit({ limit: '5/min' })"],
  ])('%p', (options, message) => {
    expect(() => rateLimit(options)).toThrow(expect.objectContaining({ message }))
  })
})

test.each<[limit: unknown, expected: string]>([
  [100, "got 100, expected units and a window, such as '100/min'"],
  ['100', "got '100', expected units and a window, such as '100/min'"],
  ['100/m', "such as '100/min' or '100/month'"],
  ['100 requests per minute', "such as '100/min'"],
  ['100 req / 15 mins', "such as '100/15min'"],
  ['10,000/hour', "such as '10000/h'"],
  ['5/2 years', "expected '5/730d' (the only calendar window of years is '5/year')"],
  [
    '100/3 months',
    "got '100/3 months', expected '100/90d' (the only calendar window of months is '100/month')",
  ],
  ['50/s, 1000/h', "got '50/s, 1000/h', expected several limits as a list: ['50/s', '1000/h']"],
  ['50/s burst 9 and 1000/h', "expected several limits as a list: ['50/s burst 9', '1000/h']"],
  [
    'unlimited',
    "got 'unlimited', expected a limit such as '100/min'; for no limit at all write plans: { free: '100/min', internal: 'unlimited' }",
  ],
  ['blocked', "to deny all requests write plans: { free: '100/min', suspended: 'blocked' }"],
  ['1.5/min', "expected units and a window, such as '3/2min'"],
  ['-5/min', "expected a quota from 1 to 10^12, such as '5/min'; a plan without limits is plans:"],
  ['fast', "expected a limit such as '100/min' or '10/s burst 20' (units of time:"],
  ['0/min', "expected a quota from 1 to 10^12, such as '100/min'; a plan that lets nothing pass"],
])('a limit of %j: %s', (limit, expected) => {
  expect(() => asLimiter({ limit })).toThrow(
    expect.objectContaining({ path: 'limit', problem: expect.stringContaining(expected) }),
  )
})

test('a limit that a store cannot count is told in the words of users', () => {
  const store = { ...memoryStore(), algorithms: ['sliding-log', 'fixed-window'] }
  Object.setPrototypeOf(store, memoryStore())
  expect(() => asLimiter({ plans: { free: '100/month' }, store })).toThrow(
    "plans.free: this store cannot count algorithm: 'fixed-window' with a month, a year, timeZone or anchor; it counts algorithm: 'sliding-log', algorithm: 'fixed-window': write algorithm: 'sliding-log', without a month, a year, timeZone or anchor",
  )
})

describe('setPlans', () => {
  test('without the default plan that was chosen says how to choose another', () => {
    const plans = { free: '5/min', pro: '9/min' }
    const own = createLimiter({ plans, defaultPlan: 'free' })
    expect(() => own.setPlans({ basic: '6/min', pro: '9/min' })).toThrow(
      "plans: the default plan 'free' is not among the plans: keep it, or choose another: setPlans(plans, { defaultPlan: 'basic' })",
    )
    expect(own.peek('acme')).toMatchObject({ plan: 'free' })
    own.setPlans({ basic: '6/min', pro: '9/min' }, { defaultPlan: 'basic' })
    expect(own.peek('acme')).toMatchObject({ plan: 'basic' })
  })
})

test('defaultPlan names the plan that was meant, or some', () => {
  const plans = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`plan${i}`, '5/min']))
  expect(() => asLimiter({ plans: { free: '5/min', pro: '9/min' }, defaultPlan: 'fre' })).toThrow(
    "defaultPlan: got 'fre', expected 'free'",
  )
  expect(() => asLimiter({ plans, defaultPlan: 'gold' })).toThrow(
    "expected the name of a plan that has limits: 'plan0', 'plan1', 'plan2', 'plan3', 'plan4', 'plan5', ...",
  )
})
