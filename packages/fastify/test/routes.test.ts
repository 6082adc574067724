import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { createLimiter, rateLimit, type RateLimitPluginOptions } from '../src/index.js'
import { byKey, ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get, statuses, remaining } = useApp((made) => {
  app = made
})

describe('options of a route', () => {
  test('false: the route is not limited and has no decision', async () => {
    await app.register(rateLimit, { limit: '1/min' })
    app.get('/', ok)
    app.get('/health', { config: { rateLimit: false } }, (request) => ({
      skipped: request.rateLimit === undefined,
    }))
    expect(await statuses(2, '/')).toEqual([200, 429])
    const response = await get('/health')
    expect([response.status, response.headers['ratelimit'], response.body]).toEqual([
      200,
      undefined,
      '{"skipped":true}',
    ])
  })

  test('override those of the plugin; counters are shared', async () => {
    const onDenied = jest.fn((_request, reply) => reply.code(420).send('calm down'))
    await app.register(rateLimit, { limit: '10/min', identify: byKey })
    app.get('/', ok)
    app.get('/report', { config: { rateLimit: { cost: 5 } } }, ok)
    app.get('/mine', { config: { rateLimit: { identify: () => 'me', headers: { single: false } } } }, ok)
    app.get('/ping', { config: { rateLimit: { skip: () => true } } }, ok)
    app.get('/calm', { config: { rateLimit: { cost: async () => 7, onDenied } } }, ok)
    const acme = { headers: { 'x-api-key': 'acme' } }
    expect(await remaining('/', acme)).toBe('9')
    expect(await remaining('/report', acme)).toBe('4')
    expect(await remaining('/', acme)).toBe('3')
    expect((await get('/report', acme)).status).toBe(429)
    expect(await remaining('/', acme)).toBe('2')
    const mine = await get('/mine', acme)
    expect([mine.headers['ratelimit'], mine.headers['ratelimit-limit']]).toEqual([
      '"minute";r=9;t=60',
      undefined,
    ])
    expect((await get('/ping', acme)).headers['ratelimit']).toBeUndefined()
    const calm = await get('/calm', acme)
    expect([calm.status, calm.body, calm.headers['ratelimit-remaining']]).toEqual([420, 'calm down', '2'])
    expect(onDenied).toHaveBeenCalledTimes(1)
  })

  test('limit as a function: of the plugin, also for routes with options, and of a route', async () => {
    await app.register(rateLimit, { plans: { free: '10/min' }, defaultPlan: 'free', limit: () => ['7/min'] })
    app.get('/', ok)
    app.get('/two', { config: { rateLimit: { cost: 2 } } }, ok)
    app.get('/own', { config: { rateLimit: { limit: async () => '5/min' } } }, ok)
    app.get('/plan', { config: { rateLimit: { limit: () => undefined } } }, ok)
    expect([
      await remaining('/'),
      await remaining('/two'),
      await remaining('/own'),
      await remaining('/plan'),
    ]).toEqual(['6', '4', '1', '5'])
  })

  test('limit as a function is asked behind authentication', async () => {
    await app.register(rateLimit, { limit: (request) => (request as { tenant?: string[] }).tenant })
    app.addHook('onRequest', async (request) => Object.assign(request, { tenant: ['3/min'] }))
    app.get('/', ok)
    expect(await remaining('/')).toBe('2')
  })

  test('group: routes of a group share its counters and limits, separate from all others', async () => {
    const exports = { group: 'exports', limit: '3/min' } as const
    await app.register(rateLimit, { plans: { free: '10/min' }, defaultPlan: 'free' })
    app.get('/', ok)
    app.get('/csv', { config: { rateLimit: exports } }, ok)
    app.get('/pdf', { config: { rateLimit: { ...exports, cost: 2 } } }, ok)
    expect([await remaining('/csv'), await remaining('/pdf'), await remaining('/')]).toEqual(['2', '0', '9'])
    expect([...(await statuses(1, '/csv')), ...(await statuses(1, '/'))]).toEqual([429, 200])
  })

  test('stacked and refundWhen work', async () => {
    await app.register(rateLimit, { limit: '10/min' })
    app.get('/both', { config: { rateLimit: { stacked: { export: '2/min' } } } }, ok)
    app.get(
      '/miss',
      { config: { rateLimit: { refundWhen: ({ status }) => status === 404 } } },
      (_request, reply) => reply.code(404).send(),
    )
    expect(await statuses(3, '/both')).toEqual([200, 200, 429])
    expect([await remaining('/miss'), await remaining('/miss')]).toEqual(['7', '7'])
  })

  test('limiter: a route can have another limiter', async () => {
    const limiter = createLimiter({ limit: '1/h' })
    await app.register(rateLimit, { limit: '10/min' })
    app.post('/login', { config: { rateLimit: { limiter } } }, ok)
    expect(await statuses(2, '/login', { method: 'POST' })).toEqual([200, 429])
    expect(await limiter.peek({ id: '127.0.0.1', kind: 'ip' })).toMatchObject({ allowed: false })
  })

  test.each([
    [{ grup: 'x' }, 'config.rateLimit.grup', 'there is no such option here; did you mean group?'],
    [{ cost: 0 }, 'config.rateLimit.cost', 'whole number'],
    [{ headers: { legacy: 'iso' } }, 'config.rateLimit.headers.legacy', "'epoch'"],
    [{ store: {} }, 'config.rateLimit.store', 'app.register(rateLimit, { store })'],
    [{ defaultPlan: 'free' }, 'config.rateLimit.defaultPlan', 'createLimiter({ defaultPlan })'],
    [{ hook: 'preHandler' }, 'config.rateLimit.hook', 'app.register(rateLimit, { hook })'],
    [{ limiter: {} }, 'config.rateLimit.limiter', 'createLimiter'],
    ['5/min', 'config.rateLimit', /expected an object of options.*; false leaves the route without a limit/],
    [null, 'config.rateLimit', /expected an object of options.*; false leaves the route without a limit/],
    [true, 'config.rateLimit', /expected an object of options.*; false leaves the route without a limit/],
  ])('%j is thrown where the route is declared', async (given, path, expected) => {
    await app.register(rateLimit, { limit: '5/min' })
    const declare = (): unknown =>
      app.route({
        method: ['GET', 'POST'],
        url: '/reports',
        config: { rateLimit: given as never },
        handler: ok,
      })
    expect(declare).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }))
    expect(declare).toThrow(expected)
    expect(declare).toThrow('(route GET,POST /reports)')
  })
})

describe('requests that match no route', () => {
  test.each(['onRequest', 'preHandler'] as const)('are limited, in %s', async (hook) => {
    await app.register(rateLimit, { limit: '2/min', hook })
    expect(await statuses(3, '/nowhere')).toEqual([404, 404, 429])
  })

  test("are counted once if the application's not-found handler has the limiter as a hook", async () => {
    await app.register(rateLimit, { limit: '3/min' })
    app.setNotFoundHandler({ preHandler: app.rateLimit() }, (request, reply) =>
      reply.code(404).send(request.rateLimit?.limits[0]?.remaining),
    )
    app.get('/', ok)
    expect((await get('/nowhere')).body).toBe('2')
    expect(await statuses(3, '/nowhere')).toEqual([404, 404, 429])
    expect(await statuses(1, '/')).toEqual([429])
  })

  test('a request that its route passes to the not-found handler is counted once', async () => {
    await app.register(rateLimit, { limit: '10/min', hook: 'preHandler' })
    app.get('/gone', { config: { rateLimit: { cost: 2 } } }, (_request, reply) => reply.callNotFound())
    const response = await get('/gone')
    expect([response.status, response.headers['ratelimit-remaining']]).toEqual([404, '8'])
    expect(await remaining('/gone')).toBe('6')
  })
})

describe('requests that match no route, where the plugin is registered below a prefix', () => {
  const none = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    reply.code(404).send('not here')
  const below = (prefix: string, options: RateLimitPluginOptions = { limit: '1/min' }): void => {
    app.register(
      async (inner) => {
        await inner.register(rateLimit, options)
        inner.get('/known', ok)
      },
      { prefix },
    )
  }

  test('are limited below that prefix, by the hooks of whoever handles them, and nowhere else', async () => {
    below('/api')
    app.get('/', ok)
    expect(await statuses(1, '/api/nowhere')).toEqual([404])
    for (const path of ['/api/nowhere?a=1', '/api/x/y', '/api', '/api?x', '/api/known', '/API/other']) {
      expect([path, await statuses(1, path)]).toEqual([path, [429]])
    }
    expect(await statuses(3, '/nowhere')).toEqual([404, 404, 404])
    expect(await statuses(2, '/apis/nowhere')).toEqual([404, 404])
    expect(await statuses(2, '/')).toEqual([200, 200])
  })

  test.each([
    ['/api/', '/api/nowhere', '/apis'],
    ['/shops/:shop', '/shops/7/nowhere', '/shops'],
    ['/v:major.:minor', '/v1.2/nowhere', '/nowhere'],
  ])('are limited below %s', async (prefix, inside, outside) => {
    below(prefix)
    expect(await statuses(2, inside)).toEqual([404, 429])
    expect(await statuses(2, outside)).toEqual([404, 404])
  })

  test('are counted once where the prefix, or a context around it, has a not-found handler', async () => {
    app.register(
      async (outer) => {
        outer.setNotFoundHandler(none)
        outer.register(
          async (inner) => {
            await inner.register(rateLimit, { limit: '3/min' })
            inner.get('/', ok)
            inner.register(async (inmost) => inmost.setNotFoundHandler(none), { prefix: '/c' })
          },
          { prefix: '/b' },
        )
      },
      { prefix: '/a' },
    )
    expect(await remaining('/a/b/nowhere')).toBe('2')
    expect(await remaining('/a/b/c/nowhere')).toBe('1')
    expect(await remaining('/a/nowhere')).toBeUndefined()
    expect(await remaining('/a/b')).toBe('0')
  })

  test('are decided after authentication, wherever it was added', async () => {
    const authenticate = async (request: FastifyRequest & { who?: string }): Promise<void> => {
      request.who = String(request.headers['x-user'])
    }
    const limiter = createLimiter({ limit: '5/min' })
    below('/api', { limiter, identify: (request: FastifyRequest & { who?: string }) => request.who })
    app.addHook('preHandler', authenticate)
    const acme = { headers: { 'x-user': 'acme' } }
    expect(await statuses(2, '/nowhere', acme)).toEqual([404, 404])
    expect(await statuses(2, '/api/nowhere', acme)).toEqual([404, 404])
    expect(await statuses(2, '/nowhere', acme)).toEqual([404, 404])
    expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(3)
  })

  test('are not limited by one in a context without a prefix of its own', async () => {
    app.register(async (inner) => {
      await inner.register(rateLimit, { limit: '1/min' })
      inner.get('/known', ok)
    })
    expect(await statuses(2, '/known')).toEqual([200, 429])
    expect(await statuses(2, '/nowhere')).toEqual([404, 404])
  })
})

describe('app.rateLimit', () => {
  test('with options goes on from what the plugin decided, as options of the route do, without a warning', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await app.register(rateLimit, { limit: '10/min' })
    const twice = app.rateLimit({ cost: 3 })
    app.post('/', { onRequest: twice, preParsing: twice as never }, ok)
    app.post('/five', { config: { rateLimit: { cost: 2 } }, preHandler: app.rateLimit({ cost: 5 }) }, ok)
    app.post('/free', { config: { rateLimit: false }, preHandler: app.rateLimit({ cost: 2 }) }, ok)
    expect(await remaining('/', { method: 'POST' })).toBe('7')
    expect(await remaining('/five', { method: 'POST' })).toBe('2')
    expect(await remaining('/free', { method: 'POST' })).toBe('0')
    expect(warned).not.toHaveBeenCalled()
    warned.mockRestore()
    expect(() => app.rateLimit({ cost: 0 })).toThrow('cost: got 0')
    expect(() => app.rateLimit({ grup: 'x' } as never)).toThrow('grup')
    // It can be a hook of several routes.
    expect(() => app.rateLimit({ limit: '5/min' })).toThrow('group: a `limit` here needs a name')
  })

  test('without options limits a route that the plugin does not limit', async () => {
    await app.register(rateLimit, { limit: '1/min' })
    app.get('/', { config: { rateLimit: false }, preHandler: [app.rateLimit(), app.rateLimit()] }, ok)
    app.get('/free', { config: { rateLimit: false } }, ok)
    expect(await statuses(2, '/')).toEqual([200, 429])
    expect(await statuses(2, '/free')).toEqual([200, 200])
  })
})

describe('routes declared before the plugin', () => {
  test('all routes, because register was not awaited: refused, with their names and what to do', async () => {
    app.register(rateLimit, { limit: '1/min' })
    app.get('/users/:id', ok)
    app.register(async (api) => void api.addHook('onRequest', async () => {}), { prefix: '/api' })
    const error: Error = await app.ready().then(
      () => new Error('not refused'),
      (thrown: Error) => thrown,
    )
    expect(error).toMatchObject({ code: 'ERR_TOLLGATE_CONFIG' })
    expect(error.message).toContain('/users/:id (GET, HEAD)')
    expect(error.message).toContain('write `await app.register(rateLimit, { ... })` before the routes')
  })

  test('a plugin in a context without routes is refused, too', async () => {
    app.register(async (limits) => {
      await limits.register(rateLimit, { limit: '1/min' })
    })
    app.get('/', ok)
    await expect(app.ready()).rejects.toThrow('fastify-plugin')
  })

  test("a user's plugin that registers it for other contexts is allowed", async () => {
    await app.register(
      fp(async (outer) => {
        await outer.register(rateLimit, { limit: '1/min' })
      }),
    )
    app.get('/', ok)
    expect(await statuses(2, '/')).toEqual([200, 429])
  })

  test('routes of plugins that came first are limited like all others, in any context', async () => {
    await app.register(fp(async (outer) => void outer.options('*', ok)))
    await app.register(async (inner) => {
      inner.get('/inner', { config: { rateLimit: { cost: 2 } } }, ok)
    })
    app.get('/health', { config: { rateLimit: false } }, ok)
    app.get('/early', { config: { rateLimit: { cost: 3 } } }, ok)
    await app.register(rateLimit, { limit: '10/min' })
    app.get('/', ok)
    expect(await remaining('/early')).toBe('7')
    expect(await remaining('/inner')).toBe('5')
    expect(await remaining('/x', { method: 'OPTIONS' })).toBe('4')
    expect(await remaining('/health')).toBeUndefined()
    expect(await remaining('/')).toBe('3')
  })

  test('wrong options of such a route are an error of its requests', async () => {
    app.get('/early', { config: { rateLimit: { grup: 'x' } as never } }, ok)
    await app.register(rateLimit, { limit: '10/min' })
    app.get('/', ok)
    const response = await get('/early')
    expect([response.status, JSON.parse(response.body).message]).toEqual([
      500,
      expect.stringContaining('config.rateLimit.grup'),
    ])
  })

  test('an application without routes is not refused', async () => {
    await app.register(rateLimit, { limit: '1/min' })
    await expect(app.ready()).resolves.toBeDefined()
  })
})
