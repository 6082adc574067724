// The stack of a mistake begins where the mistake is: in the file that called Tollgate. A stack shows ten frames, and
// Tollgate's own would fill them. packed-faces.ts and packed-stores.ts look at it as published, in ESM and in CommonJS.
import * as core from '@tollgate/core'
import * as adapterFace from '@tollgate/core/adapter'
import * as storeFace from '@tollgate/core/store'
import * as kit from '@tollgate/core/testing'
import * as contract from '@tollgate/store-contract'
import Fastify, { type FastifyPluginAsync } from 'fastify'
import * as adminFastify from '../../admin/src/fastify.ts'
import * as adminFetch from '../../admin/src/fetch.ts'
import * as admin from '../../admin/src/index.ts'
import * as adminKoa from '../../admin/src/koa.ts'
import * as express from '../../express/src/index.ts'
import * as fastify from '../../fastify/src/index.ts'
import * as koa from '../../koa/src/index.ts'
import * as memcached from '../../memcached/src/index.ts'
import * as metrics from '../../metrics/src/index.ts'
import * as promClient from '../../metrics/src/prom-client.ts'
import * as forExpress from '../../stores/src/express-rate-limit.ts'
import * as forFastify from '../../stores/src/fastify-rate-limit.ts'
import * as forHono from '../../stores/src/hono-rate-limiter.ts'
import * as forNest from '../../stores/src/nestjs-throttler.ts'

type Call = (wrong: never) => unknown
/** Calls each function with a value that no option can have. */
type Calls = Readonly<Record<string, Call>>

const limiter = core.createLimiter({ limit: '5/min' })
const inScope = limiter.scope({ group: 'search' })
const ofMemcached = core.createLimiter({ limit: '5/min', store: memcached.memcachedStore('127.0.0.1:1') })
const decision = core.createLimiter({ limit: '5/min' }).consume('acme') as core.Decision
const http = adapterFace.createHttpLimiter({} as never, { limit: '5/min' })
const ofExpress = new forExpress.TollgateStore(core.memoryStore())
const OfFastify = forFastify.tollgateStore(core.memoryStore(), { name: 'child' })
const child = new OfFastify({ max: 5, timeWindow: 1000 })

const USERS: Calls = {
  createLimiter: core.createLimiter,
  denialReferences: core.denialReferences,
  readPlans: core.readPlans,
  memoryStore: core.memoryStore,
  redisStore: core.redisStore,
  byBearerToken: core.byBearerToken,
  byHeader: core.byHeader,
  byIp: core.byIp,
  byJwtClaim: core.byJwtClaim,
  subjectForIp: core.subjectForIp,
  toHttpResponse: (wrong) => core.toHttpResponse(decision, wrong),
  refuseUpgrade: (wrong) => core.refuseUpgrade({} as never, decision, wrong),
}

const FACES: readonly [face: string, exported: object, calls: Calls][] = [
  ['@tollgate/core', core, USERS],
  ['@tollgate/express', express, { ...USERS, rateLimit: express.rateLimit, usage: express.usage }],
  ['@tollgate/koa', koa, { ...USERS, rateLimit: koa.rateLimit, usage: koa.usage }],
  // Its rateLimit is called by Fastify: see below.
  ['@tollgate/fastify', fastify, { ...USERS, usage: fastify.usage }],
  [
    '@tollgate/core/adapter',
    adapterFace,
    {
      createHttpLimiter: (wrong) => adapterFace.createHttpLimiter({} as never, wrong),
      createUsage: (wrong) => adapterFace.createUsage({} as never, wrong),
    },
  ],
  [
    '@tollgate/core/store',
    storeFace,
    {
      createLimitSetFor: (wrong) => storeFace.createLimitSetFor({}, wrong),
      createLimitSet: storeFace.createLimitSet,
      memoryStore: storeFace.memoryStore,
    },
  ],
  [
    '@tollgate/core/testing',
    kit,
    {
      createTestLimiter: kit.createTestLimiter,
      expectAllowed: (wrong) => kit.expectAllowed(decision, wrong),
      expectDenied: (wrong) => kit.expectDenied(decision, wrong),
      failingStore: kit.failingStore,
      testClock: kit.testClock,
    },
  ],
  ['@tollgate/memcached', memcached, { memcachedStore: memcached.memcachedStore }],
  ['@tollgate/metrics', metrics, { instrument: metrics.instrument, instrumentAll: metrics.instrumentAll }],
  [
    '@tollgate/metrics/prom-client',
    promClient,
    { instrument: promClient.instrument, instrumentAll: promClient.instrumentAll },
  ],
  ['@tollgate/store-contract', contract, { storeContract: contract.storeContract }],
  [
    '@tollgate/stores/express-rate-limit',
    forExpress,
    {
      tollgateStore: forExpress.tollgateStore,
      TollgateStore: (wrong) => new forExpress.TollgateStore(wrong),
    },
  ],
  [
    '@tollgate/stores/hono-rate-limiter',
    forHono,
    { tollgateStore: forHono.tollgateStore, TollgateStore: (wrong) => new forHono.TollgateStore(wrong) },
  ],
  ['@tollgate/admin', admin, { dashboard: (wrong) => admin.dashboard(limiter, wrong as never) }],
  [
    '@tollgate/admin/fastify',
    adminFastify,
    { dashboard: (wrong) => adminFastify.dashboard(limiter, wrong as never) },
  ],
  ['@tollgate/admin/koa', adminKoa, { dashboard: (wrong) => adminKoa.dashboard(limiter, wrong as never) }],
  [
    '@tollgate/admin/fetch',
    adminFetch,
    { dashboard: (wrong) => adminFetch.dashboard(limiter, wrong as never) },
  ],
  ['@tollgate/stores/fastify-rate-limit', forFastify, { tollgateStore: forFastify.tollgateStore }],
  [
    '@tollgate/stores/nestjs-throttler',
    forNest,
    { tollgateStore: forNest.tollgateStore, TollgateStorage: (wrong) => new forNest.TollgateStorage(wrong) },
  ],
]

/** What is exported and gives the caller no such error, or is made to throw it in the name of another function. */
const OTHERS = [
  ...['ConfigError', 'LimitedError', 'StoreError', 'StoreUnavailableError', 'TollgateError'],
  ...[
    'admitThen',
    'channelFor',
    'decisionsOf',
    'groupForRoute',
    'hasLeft',
    'internalsOf',
    'isOutcome',
    'isRefundAnswer',
    'noteHttp',
  ],
  ...[
    'onResponseEnd',
    'processWide',
    'refundByKey',
    'refundOf',
    'spaceOf',
    'toError',
    'toThrown',
    'unsupportedBy',
  ],
  ...['billedSet', 'expectRemaining', 'warn', 'watchIdentity', 'atCaller', 'checkStore', 'needClock'],
  ...['areIdsHashed', 'needOptions', 'isHiddenId', 'findRules', 'findSeenPlan', 'thrownText', 'within'],
]

const clock = kit.testClock()
const tested = kit.createTestLimiter({ limit: '5/min', clock })
const failing = kit.failingStore(clock.memoryStore())

const METHODS: Calls = {
  'testClock.advance': clock.advance,
  'testClock.set': clock.set,
  'testClock.memoryStore': (wrong) => clock.memoryStore({ maxSubjects: wrong }),
  'testLimiter.of': (wrong) => tested.of(wrong),
  'testLimiter.next': (wrong) => tested.next(wrong),
  'failingStore.slow': (wrong) => failing.slow(wrong),
  'failingStore.down': (wrong) => failing.down(wrong),
  'failingStore.loseReplies': (wrong) => failing.loseReplies(wrong),
  'failingStore.failOver': () => failing.failOver(),
  'failingStore.shard': (wrong) => failing.shard(wrong),
  'slow of a shard': (wrong) => failing.shard(0).slow(wrong),
  'limiter.consume': (wrong) => limiter.consume('acme', wrong),
  'limiter.consume of nobody': limiter.consume.bind(limiter),
  'limiter.peek': (wrong) => limiter.peek('acme', wrong),
  'limiter.reserve': (wrong) => limiter.reserve('acme', wrong),
  'limiter.reserve, which the store cannot': () => ofMemcached.reserve('acme', { for: '1s' }),
  'limiter.scope': limiter.scope.bind(limiter),
  'limiter.setPlans': limiter.setPlans.bind(limiter) as Call,
  'limiter.setPlans, its options': (wrong) => limiter.setPlans({ free: '5/min' }, wrong),
  'limiter.forgetPlan': limiter.forgetPlan.bind(limiter),
  'limiter.on': (wrong) => limiter.on(wrong, () => {}),
  'limiter.off': (wrong) => limiter.off(wrong, () => {}),
  'scope.consume': (wrong) => inScope.consume('acme', wrong),
  'scope.peek': (wrong) => inScope.peek('acme', wrong),
  'scope.reserve': (wrong) => inScope.reserve('acme', wrong),
  'HttpLimiter.route': (wrong) => http.route(wrong),
  'route of Express': (wrong) => express.rateLimit({ limit: '5/min' }).route(wrong),
  'route of Koa': (wrong) => koa.rateLimit({ limit: '5/min' }).route(wrong),
  'TollgateStore.init': (wrong) => ofExpress.init({ windowMs: wrong, limit: 5 }),
  'the store of @fastify/rate-limit': () => new OfFastify({}),
  'its child': () => child.child({ max: -1 }),
}

const escaped = (text: string): string => text.replace(/[()]/g, '\\$&')
const WRONG = Symbol('wrong') as never

/** The frames of what the call throws, or rejects with. */
async function framesOf(call: Call): Promise<string[]> {
  const mistake = await Promise.resolve()
    .then(() => call(WRONG))
    .then(
      () => undefined,
      (error: unknown) => error as core.TollgateError,
    )
  expect(mistake?.code).toMatch(/^ERR_TOLLGATE_(?:CONFIG|SUBJECT|COST)$/)
  expect(Object.keys(mistake as object)).not.toContain('stack')
  return String(mistake?.stack).split('\n    at ').slice(1)
}

/** The first frame. */
async function blamed(call: Call): Promise<string | undefined> {
  return (await framesOf(call))[0]
}

afterAll(async () => {
  await ofMemcached.close()
})

describe.each(FACES)('%s', (_, exported, calls) => {
  test.each(Object.keys(calls))('%s', async (name) => {
    // A function of its own, since the call itself may be the function that is tried.
    const call = calls[name] as Call
    expect(await blamed((wrong) => call(wrong))).toContain(__filename)
  })

  test('no other function is exported', () => {
    const functions = Object.entries(exported).flatMap(([name, one]) =>
      typeof one === 'function' ? [name] : [],
    )
    const untried = functions.filter((name) => !(name in calls) && !OTHERS.includes(name))
    expect(untried.filter((name) => !['rateLimit', 'default'].includes(name))).toEqual([])
  })
})

test.each(Object.keys(METHODS))('%s', async (name) => {
  const call = METHODS[name] as Call
  expect(await blamed((wrong) => call(wrong))).toContain(__filename)
})

describe('in Fastify, which calls the plugin itself', () => {
  const app = Fastify()
  beforeAll(async () => {
    await app.register(fastify.rateLimit, { limit: '5/min' })
  })
  afterAll(() => app.close())

  test('app.rateLimit', async () => {
    expect(await blamed((wrong) => app.rateLimit(wrong))).toContain(__filename)
  })

  test('calling the plugin', async () => {
    const rateLimit = fastify.rateLimit as unknown as Call
    expect(await blamed((wrong) => rateLimit(wrong))).toContain(__filename)
  })

  test("the options of a route: Fastify's frames, then the caller", async () => {
    const frames = await framesOf((wrong) => app.get('/', { config: { rateLimit: wrong } }, () => 'ok'))
    expect(frames[0]).toContain('/fastify/lib/')
    expect(frames.find((frame) => !frame.includes('/fastify/'))).toContain(__filename)
  })

  // The line that registers it ran long before.
  test("the options of the plugin: the frames of Fastify's loader alone", async () => {
    const [first, ...others] = await framesOf((wrong) =>
      Fastify().register(fastify.rateLimit, { limit: wrong }),
    )
    expect(first).toContain('/avvio/')
    expect(others.filter((frame) => frame.includes('/packages/'))).toEqual([])
  })

  test.each<[around: FastifyPluginAsync, suffix: string]>([
    [
      async function api(inner) {
        inner.register(fastify.rateLimit, { limit: '5/min' })
        inner.register(fastify.rateLimit, { limit: '5' })
      },
      ' (registered in the plugin api)',
    ],
    [async (inner) => void inner.register(fastify.rateLimit, { limit: '5' }), ''],
  ])('the plugin that registers it is named, if it has a name: %#', async (around, suffix) => {
    const problem = "limit: got '5', expected units and a window, such as '5/min'"
    await expect(Fastify().register(around)).rejects.toThrow(new RegExp(`${escaped(problem + suffix)}$`))
  })
})
