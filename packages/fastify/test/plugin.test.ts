import type { FastifyInstance } from 'fastify'
import tollgate, { byIp, createLimiter, rateLimit } from '../src/index.js'
import { byKey, ok, useApp, type Asked } from './support/app.ts'

declare module 'fastify' {
  interface FastifyRequest {
    user?: { id: string; plan: string }
  }
}

const json = { 'content-type': 'application/json' }

let app: FastifyInstance
const { get, statuses, remaining } = useApp((made) => {
  app = made
})

describe('a plugin used like middleware', () => {
  const message =
    "rateLimit: it is a plugin, so register it instead of calling it: app.register(rateLimit, { limit: '100/min' })"

  test('called with options it throws', () => {
    expect(() =>
      app.register((rateLimit as unknown as (options: object) => never)({ limit: '5/min' })),
    ).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', message }))
    expect(() => (rateLimit as unknown as () => never)()).toThrow(message)
  })

  test('added as a hook it answers with 500', async () => {
    app.addHook('onRequest', rateLimit as never)
    app.get('/', ok)
    const { status, body } = await get('/')
    expect([status, JSON.parse(body).message]).toEqual([500, message])
  })
})

describe('the stage that decides', () => {
  /** An application that authenticates in a hook. */
  const authenticate = (at: 'preParsing' | 'preValidation' | 'preHandler'): void => {
    app.decorateRequest('user')
    app.addHook(at as 'preHandler', async (request) => {
      const [plan, id] = String(request.headers.authorization).split(' ') as [string, string]
      request.user = { id, plan }
    })
  }
  const plans = { free: '1/min', pro: '2/min' }

  test.each([
    ['preParsing', 'preParsing'],
    ['preParsing', 'preValidation'],
    ['preValidation', 'preHandler'],
    ['preHandler', 'preHandler'],
  ] as const)('authentication in %s, limits in %s: by the plan of the user', async (at, hook) => {
    authenticate(at)
    await app.register(rateLimit, { plans, hook, identify: (request) => request.user })
    app.post('/', (request) => ({ body: request.body, plan: request.rateLimit?.plan }))
    const post = { method: 'POST', body: '{"n":1}' } as const
    const pro = { ...post, headers: { ...json, authorization: 'pro acme' } }
    expect(JSON.parse((await get('/', pro)).body)).toEqual({ body: { n: 1 }, plan: 'pro' })
    expect(await statuses(2, '/', pro)).toEqual([200, 429])
    expect(await statuses(2, '/', { ...post, headers: { ...json, authorization: 'free bob' } })).toEqual([
      200, 429,
    ])
  })

  test('is onRequest by default: a denial comes before the body is read and before authentication', async () => {
    const authenticated = jest.fn(async () => {})
    await app.register(rateLimit, { limit: '1/min' })
    app.addHook('onRequest', authenticated)
    app.post('/', ok)
    const bad = { method: 'POST', headers: json, body: '{' } as const
    expect(await statuses(2, '/', bad)).toEqual([400, 429])
    expect(authenticated).toHaveBeenCalledTimes(1)
  })

  test.each(['onSend', 'prehandler', null, 1])('%p is not a stage', async (hook) => {
    const registered = app.register(rateLimit, { limit: '1/min', hook: hook as never })
    await expect(registered.ready()).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_CONFIG',
      path: 'hook',
      problem: expect.stringContaining("one of 'onRequest', 'preParsing', 'preValidation', 'preHandler'"),
    })
  })
})

test('a wrong option fails the registration', async () => {
  await expect(app.register(rateLimit, { limt: '5/min' } as never).ready()).rejects.toMatchObject({
    code: 'ERR_TOLLGATE_CONFIG',
    path: 'limt',
  })
})

test.each<[given: unknown, what: string, options: string]>([
  ['5/min', "'5/min'", "{ limit: '5/min' }"],
  [createLimiter({ limit: '5/min' }), 'a limiter', '{ limiter }'],
])('what belongs into its options, in place of them: %#', async (given, what, options) => {
  await expect(app.register(rateLimit, given as never).ready()).rejects.toMatchObject({
    message: `options: got ${what}, expected an object of options: app.register(rateLimit, ${options})`,
  })
})

test('rateLimit is also the default export, and has a plugin name', async () => {
  await app.register(tollgate, { limit: '5/min' })
  expect(app.hasPlugin('@tollgate/fastify')).toBe(true)
  expect(await app.rateLimiter.peek('acme')).toMatchObject({ allowed: true, source: 'store' })
})

describe('where it is registered', () => {
  test('limits that context and nested contexts, and no others', async () => {
    await app.register(async (api) => {
      await api.register(rateLimit, { limit: '2/min' })
      api.get('/api', ok)
      api.register(async (inner) => void inner.get('/api/inner', ok))
    })
    app.get('/', ok)
    app.register(async (sibling) => void sibling.get('/sibling', ok))
    expect([...(await statuses(1, '/api')), ...(await statuses(2, '/api/inner'))]).toEqual([200, 200, 429])
    expect([...(await statuses(3, '/')), ...(await statuses(3, '/sibling'))]).toEqual(Array(6).fill(200))
    expect([app.hasDecorator('rateLimit'), app.hasDecorator('rateLimiter')]).toEqual([false, false])
  })

  test('in a nested context as well: both limit, and options of a route are for the inner one', async () => {
    await app.register(rateLimit, { limit: '100/min' })
    await app.register(async (api) => {
      await api.register(rateLimit, { limit: '10/min' })
      api.get('/api', { config: { rateLimit: { cost: 4 } } }, ok)
      api.get('/free', { config: { rateLimit: false } }, ok)
      expect(await api.rateLimiter.peek('x')).toMatchObject({ limits: [{ quota: 10 }] })
    })
    app.get('/', { config: { rateLimit: { cost: 20 } } }, ok)
    expect(await statuses(3, '/api')).toEqual([200, 200, 429])
    expect(await statuses(3, '/free')).toEqual([200, 200, 200])
    // Three requests of cost 1 through /api.
    expect(await remaining('/')).toBe('77')
    expect(await app.rateLimiter.peek('x')).toMatchObject({ limits: [{ quota: 100 }] })
  })

  test('twice in one application, with one limiter: a guard by address, then authentication, then plans', async () => {
    const limiter = createLimiter({ plans: { guard: '5/min', free: '2/min', pro: '3/min' } })
    const authenticated = jest.fn()
    await app.register(rateLimit, { limiter, identify: byIp({ plan: 'guard' }), headers: false })
    app.decorateRequest('user')
    app.addHook('preHandler', async (request) => {
      authenticated()
      request.user = { id: byKey(request) as string, plan: 'free' }
    })
    await app.register(rateLimit, { limiter, hook: 'preHandler', identify: (request) => request.user })
    app.get('/', (request) => request.rateLimit?.subject)
    app.get('/two', { config: { rateLimit: { cost: 2 } } }, ok)

    const as = (key: string): Asked => ({ headers: { 'x-api-key': key } })
    const first = await get('/', as('a'))
    expect([JSON.parse(first.body), first.headers['ratelimit']]).toEqual([
      { id: 'a', plan: 'free' },
      '"minute";r=1;t=60',
    ])
    expect(await statuses(1, '/two', as('a'))).toEqual([429])
    expect(await remaining('/two', as('b'))).toBe('0')
    expect(await statuses(3, '/', as('c'))).toEqual([200, 200, 429])
    // The guard admits five requests, so nobody is authenticated after those.
    expect(authenticated).toHaveBeenCalledTimes(5)
    const guarded = await get('/', as('d'))
    expect([guarded.status, guarded.headers['ratelimit']]).toEqual([429, undefined])
    expect(await limiter.peek({ id: 'd', plan: 'free' })).toMatchObject({ limits: [{ remaining: 2 }] })
  })

  test('next to a plugin that has decorated rateLimit: refused, since it must not be replaced', async () => {
    app.decorate('rateLimit', (() => {}) as never)
    await expect(app.register(rateLimit, { limit: '5/min' }).ready()).rejects.toMatchObject({
      code: 'FST_ERR_DEC_ALREADY_PRESENT',
    })
  })
})

test.each([
  ['its own limiter', false, 'closed'],
  ['a shared one', true, 'store'],
])('closing the application: %s', async (_, isShared, source) => {
  const limiter = createLimiter({ limit: '5/min', onStoreFailure: 'closed' })
  await app.register(rateLimit, isShared ? { limiter } : { limit: '5/min', onStoreFailure: 'closed' })
  const { rateLimiter } = app
  expect((await rateLimiter.consume('acme')).source).toBe('store')
  await app.close()
  expect((await rateLimiter.consume('acme')).source).toBe(source)
})
