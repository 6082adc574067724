// What an error says to type where an option goes by the name that another package, or nobody, has for it; and where what
// belongs into the options stands in place of them.
import { createHttpLimiter } from '../../src/adapter.js'
import { plainName } from '../../src/base/options.js'
import { createLimiter, memoryStore, type LimiterOptions, type PlanInput } from '../../src/index.js'
import { HTTP_OPTIONS } from '../../src/http/option-checks.js'
import { LIMITER_OPTIONS } from '../../src/limiter/options/limiter-options.js'
import { REMEDIED, remedyOf } from '../../src/limiter/options/remedies.js'

const rateLimit = (options?: unknown): unknown => createHttpLimiter({} as never, options as never)
const limiter = createLimiter({ limit: '5/min' })
const asLimiter = (options?: unknown): unknown => createLimiter(options as LimiterOptions)

describe('an option by another name', () => {
  test.each<[name: string, remedy: string]>([
    ['failOpen', "write onStoreFailure: 'open'"],
    ['fail_open', "write onStoreFailure: 'open'"],
    ['failClosed', "write onStoreFailure: 'closed'"],
    ['failureMode', "write onStoreFailure: 'local', 'open' or 'closed'"],
    ['onError', "listen: limiter.on('storeError', (error) => ...); what to answer then is onStoreFailure"],
    ['timeout', 'write deadlineMs: 100'],
    ['default', "write defaultPlan: 'free'"],
    ['maxRetryAfter', 'write maxRetryAfterMs: 60000'],
    [
      'onLimit',
      "write onDenied: (req, res, decision) => ..., or listen: limiter.on('limited', (decision) => ...)",
    ],
    [
      'onLimitReached',
      "write onDenied: (req, res, decision) => ..., or listen: limiter.on('limited', (decision) => ...)",
    ],
    ['key', 'write identify: (req) => ...'],
    ['getTracker', 'write identify: (req) => ...'],
    [
      'plan',
      'return { id, plan } from identify, or look it up: planOf: ({ id }) => ...; what you sell goes to plans',
    ],
    [
      'getPlan',
      'return { id, plan } from identify, or look it up: planOf: ({ id }) => ...; what you sell goes to plans',
    ],
    ['tiers', "write plans: { free: '100/min', pro: '1000/min' }"],
    ['rate', "write limit: '100/min', or with a burst '10/s burst 20'"],
    ['tokensPerInterval', "write limit: '100/min', or with a burst '10/s burst 20'"],
    ['nodelay', 'leave it out: a burst passes at once, unless the plan has wait'],
    ['weight', 'write cost: 5, or cost: (req) => ...'],
    ['whiteList', 'write allowList: [...]'],
    ['denyList', 'write blockList: [...]'],
    [
      'ban',
      "put it into a plan: plans: { free: { limits: '100/min', blockAfter: { denials: 100, within: '1min', for: ['1min', '1h'] } } }",
    ],
    ['skipIf', 'write skip: (req) => ..., true for requests that are not limited'],
    ['path', 'mount it on those routes alone, or write skip: (req) => ...'],
    ['status', 'write onDenied: (req, res, decision) => ..., which sets the status'],
    ['retryAfter', 'leave it out: it is always sent; maxRetryAfterMs bounds it'],
    ['identifier', "name the limit itself: limit: { quota: 100, window: 'min', name: 'api' }"],
    ['groupId', "write group: 'search'"],
    ['redisUrl', 'write store: redisStore(client)'],
    ['memory', 'leave it out: a limiter without a store counts in memory'],
    ['trustProxy', "set it in the framework: app.set('trust proxy', 1)"],
    ['ipv6Subnet', 'write identify: byIp({ ipv6Prefix: 64 })'],
    ['logger', "listen: limiter.on('limited', (decision) => ...), or use @tollgate/metrics"],
    ['enabled', 'write skip: (req) => ..., true for requests that are not limited'],
  ])('%s', (name, remedy) => {
    expect(() => rateLimit({ limit: '5/min', [name]: 1 })).toThrow(
      expect.objectContaining({
        path: name,
        problem: expect.stringContaining(`there is no such option here; ${remedy}`),
      }),
    )
  })

  test.each<[name: string, remedy: string]>([
    [
      'keyGenerator',
      "write identify: (req) => ..., an option of an adapter's rateLimit: rateLimit({ limiter, identify })",
    ],
    ['onLimit', "an adapter's rateLimit: rateLimit({ limiter, onDenied })"],
    ['weight', 'pass it to limiter.consume(subject, { cost })'],
    ['groupId', "pass it to limiter.scope({ group: 'search' }), or to an adapter's rateLimit"],
    [
      'plan',
      "pass it with the subject: limiter.consume({ id: 'acme', plan: 'pro' }), or look it up: planOf: ({ id }) => ...",
    ],
    ['failOpen', "there is no such option here; write onStoreFailure: 'open'"],
  ])('%s without HTTP', (name, remedy) => {
    expect(() => asLimiter({ limit: '5/min', [name]: 1 })).toThrow(
      expect.objectContaining({ path: name, problem: expect.stringContaining(remedy) }),
    )
  })

  test.each<[name: string, remedy: string]>([
    ['failOpen', "write onStoreFailure: 'open', where the limiter is made"],
    ['timeout', 'write deadlineMs: 100, where the limiter is made'],
    ['weight', 'write cost: 5, or cost: (req) => ...'],
  ])('%s at one place', (name, remedy) => {
    const http = createHttpLimiter({} as never, { limit: '5/min' })
    expect(() => http.route({ [name]: 1 } as never, 'config.rateLimit')).toThrow(
      new RegExp(
        `^config\\.rateLimit\\.${name}: there is no such option here; ${remedy.replace(/[.()]/g, '\\$&')}$`,
      ),
    )
  })

  test('says what to type by an option that there is, and takes the place of none', () => {
    const options = [...LIMITER_OPTIONS, ...HTTP_OPTIONS]
    for (const name of REMEDIED) {
      const [, written = 'limit'] = /^write (\w+)/.exec(remedyOf(name) ?? '') ?? []
      expect([name, options.includes(written)]).toEqual([name, true])
      expect([name, options.filter((option) => plainName(option) === name)]).toEqual([name, []])
    }
  })
})

describe('what belongs into the options, in place of them', () => {
  const redis = { eval() {}, evalsha() {}, status: 'ready', once() {} }
  const client = Object.setPrototypeOf(redis, new Map()) as object
  const middleware = Object.assign(() => {}, { limiter })
  test.each<[given: unknown, what: string, options: string]>([
    [client, 'a Redis client', "{ limit: '100/min', store: redisStore(client) }"],
    [redis, 'a Redis client', "{ limit: '100/min', store: redisStore(client) }"],
    [memoryStore(), 'a store', "{ limit: '100/min', store }"],
    [['5/s', '100/min'], 'an array', "{ limit: ['5/s', '100/min'] }"],
    ['100 per min', "'100 per min'", "{ limit: '100 per min' }"],
    [100, '100', "{ limit: '100/min' }"],
    [
      'redis://user:secret@10.0.0.1',
      'a string of 28 characters',
      "{ limit: '100/min', store: redisStore(new Redis(url)) }",
    ],
  ])('%#', (given, what, options) => {
    const message = `options: got ${what}, expected an object of options: `
    expect(() => rateLimit(given)).toThrow(
      expect.objectContaining({ message: `${message}rateLimit(${options})` }),
    )
    expect(() => asLimiter(given)).toThrow(expect.objectContaining({ message: message + options }))
  })

  test.each<[given: unknown, what: string, options: string]>([
    [limiter, 'a limiter', '{ limiter }'],
    [middleware, 'a middleware', '{ limiter: thatMiddleware.limiter }'],
  ])('%# of a middleware alone', (given, what, options) => {
    expect(() => rateLimit(given)).toThrow(
      `options: got ${what}, expected an object of options: rateLimit(${options})`,
    )
    expect(() => asLimiter(given)).toThrow("expected an object of options, such as { limit: '100/min' }")
  })

  test.each<[given: object, message: string]>([
    [
      { free: '100/min', pro: ['50/s', '1000/h'] },
      "free: plans belong in the option plans: write plans: { free: '100/min', pro: [...] }",
    ],
    [
      { free: '5 concurrent', staff: 'unlimited' },
      "free: plans belong in the option plans: write plans: { free: '5 concurrent', staff: 'unlimited' }",
    ],
    [
      { a: '1/s', b: '1/s', c: '1/s', d: '1/s' },
      "a: plans belong in the option plans: write plans: { a: '1/s', b: '1/s', c: '1/s', ... }",
    ],
  ])('plans: %j', (given, message) => {
    expect(() => rateLimit(given)).toThrow(expect.objectContaining({ message }))
    expect(() => asLimiter(given)).toThrow(expect.objectContaining({ message }))
  })

  test.each([
    ['limt', 'did you mean limit?'],
    ['Limit', 'did you mean limit?'],
    ['limits', "write limit: ['100/min', '1000/h']"],
  ])('a misspelt option is no plan: %s', (name, remedy) => {
    const message = expect.stringContaining(`there is no such option here; ${remedy}`)
    for (const value of ['5/min', ['5/min', '10/h']]) {
      expect(() => rateLimit({ [name]: value })).toThrow(expect.objectContaining({ path: name, message }))
      expect(() => asLimiter({ [name]: value })).toThrow(expect.objectContaining({ path: name, message }))
    }
  })

  test('an option that only looks like a plan', () => {
    expect(() => asLimiter({ limit: '5/min', extra: '5/s' })).toThrow(
      'extra: there is no such option here; all options',
    )
  })
})

describe('setPlans', () => {
  const plans = { free: '5/min', pro: '9/min' }
  const INNER =
    "plans.plans: got an object with free, pro, expected the plans themselves, one level up: { free: '100/min', pro: '1000/min' }"

  test.each<[given: unknown, message: string]>([
    [{ plans }, INNER],
    [
      { plans, defaultPlan: 'free' },
      `${INNER}; setPlans takes the default plan as its second argument: { defaultPlan }`,
    ],
    ['5/min', "plans: got '5/min', expected plans by name, such as { free: '100/min', pro: '1000/min' }"],
    [undefined, "plans: got undefined, expected plans by name, such as { free: '100/min', pro: '1000/min' }"],
  ])('%j', (given, message) => {
    const own = createLimiter({ plans, defaultPlan: 'free' })
    expect(() => own.setPlans(given as never)).toThrow(expect.objectContaining({ message }))
    expect(own.peek('acme')).toMatchObject({ plan: 'free' })
  })

  test('plans within plans, as of a file of settings', () => {
    expect(() => asLimiter({ plans: { plans } })).toThrow(expect.objectContaining({ message: INNER }))
  })

  test.each<[plan: PlanInput]>([
    ['5/min'],
    [{ quota: 5, window: 'min' }],
    [{ limits: '5/min' }],
    [{ concurrent: 5 }],
  ])('a plan that is called plans: %j', (plan) => {
    const own = createLimiter({ limit: '5/min' })
    own.setPlans({ plans: plan })
    expect(own.peek('acme')).toMatchObject({ plan: 'plans' })
  })
})
