// `identify` finds the user wherever an application authenticates. Each user may send one request. Users a, b, c and a
// again get 200, 200, 200 and 429. A limiter that runs before authentication would count them all by one address.
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { byIp, createLimiter, rateLimit, type RateLimitPluginOptions } from '../src/index.js'
import { runLast } from '../src/last-hooks.js'
import { ok, useApp } from './support/app.ts'

declare module 'fastify' {
  interface FastifyRequest {
    who?: string
  }
  interface FastifyInstance {
    authenticate: typeof authenticate
  }
}

let app: FastifyInstance
const { get } = useApp((made) => {
  app = made
})

type Stage = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler'
const STAGES: readonly Stage[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

async function authenticate(request: FastifyRequest, _reply?: FastifyReply): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  request.who = String(request.headers['x-user'])
}
const identify = (request: FastifyRequest): string | undefined => request.who
const limits: RateLimitPluginOptions = { limit: '1/min', identify }
const register = async (
  on: FastifyInstance,
  options: Partial<RateLimitPluginOptions> = {},
): Promise<void> => {
  await on.register(rateLimit, { ...limits, ...options })
}
const addHook = (on: FastifyInstance, stage: Stage): unknown => on.addHook(stage as 'onRequest', authenticate)

const answers = async (path: string, method: 'GET' | 'POST' = 'GET'): Promise<number[]> => {
  const all = []
  for (const user of ['a', 'b', 'c', 'a'])
    all.push((await get(path, { method, headers: { 'x-user': user } })).status)
  return all
}
const EACH_ONCE = [200, 200, 200, 429]
const NONE_FOUND = [404, 404, 404, 429]

describe.each(STAGES)('authentication in %s', (stage) => {
  test('a hook added before', async () => {
    addHook(app, stage)
    await register(app)
    app.get('/', ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
    expect(await answers('/nowhere')).toEqual([429, 429, 429, 429])
  })

  test('a hook added after', async () => {
    await register(app)
    addHook(app, stage)
    app.get('/', ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test('a hook added after the routes', async () => {
    await register(app)
    app.get('/', ok)
    addHook(app, stage)
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test.each<[string, (hook: typeof authenticate) => object]>([
    ['one', (hook) => ({ [stage]: hook })],
    ['several', (hook) => ({ [stage]: [async () => {}, hook] })],
  ])('of a route, %s', async (_, hooks) => {
    await register(app)
    app.get('/', hooks(authenticate), ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test('a hook of a route that was declared before', async () => {
    app.get('/', { [stage]: authenticate }, ok)
    await register(app)
    app.get('/other', ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test('a hook added after, for a route that was declared before', async () => {
    app.get('/', ok)
    await app.register(async (inner) => void inner.get('/inner', ok))
    await register(app)
    app.get('/other', ok)
    addHook(app, stage)
    expect(await answers('/')).toEqual(EACH_ONCE)
    expect(await answers('/inner')).toEqual([429, 429, 429, 429])
  })

  test('a hook of a nested context', async () => {
    await register(app)
    app.get('/other', ok)
    app.register(async (inner) => {
      inner.get('/', ok)
      addHook(inner, stage)
    })
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test('a plugin of the application, registered after, with a decorator that routes use', async () => {
    await register(app)
    app.register(
      fp(async (outer) => {
        outer.decorate('authenticate', authenticate)
      }),
    )
    app.register(async (inner) => {
      inner.get('/', { [stage]: [inner.authenticate] }, ok)
    })
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test.each<[string, (route: RouteOptions) => void]>([
    ['pushes', (route) => void (route[stage] as unknown[]).push(authenticate)],
    [
      'adds to what is there, as @fastify/rate-limit does',
      (route) => {
        const given = route[stage] as unknown
        if (Array.isArray(given)) given.push(authenticate)
        else Object.assign(route, { [stage]: given ? [given, authenticate] : [authenticate] })
      },
    ],
    ['replaces them', (route) => Object.assign(route, { [stage]: authenticate })],
    [
      'copies',
      (route) => Object.assign(route, { [stage]: [route[stage] ?? []].flat().concat(authenticate) }),
    ],
  ])('an onRoute hook of a later plugin that %s', async (name, add) => {
    await register(app, name === 'pushes' ? { hook: stage } : {})
    app.addHook('onRoute', add)
    app.get('/', { [stage]: [async () => {}] }, ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
  })

  test('in the stage that the option hook names', async () => {
    app.get('/early', { [stage]: authenticate }, ok)
    await register(app, { hook: stage })
    app.get('/', { [stage]: authenticate }, ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
    // Each of them has used its one request.
    expect(await answers('/early')).toEqual([429, 429, 429, 429])
  })

  test('a hook added after, for requests that match no route', async () => {
    await register(app)
    app.get('/', ok)
    addHook(app, stage)
    expect(await answers('/nowhere')).toEqual(NONE_FOUND)
  })

  test('for requests that match no route, in a context with its own not-found handler', async () => {
    await register(app)
    app.get('/', ok)
    app.register(
      async (inner) => {
        inner.setNotFoundHandler((_request, reply) => reply.code(404).send('not here'))
        addHook(inner, stage)
      },
      { prefix: '/inner' },
    )
    expect(await answers('/inner/nowhere')).toEqual(NONE_FOUND)
  })

  test('a POST to a route with its own options', async () => {
    await register(app)
    app.route({
      method: ['POST', 'GET'],
      url: '/',
      [stage]: authenticate,
      config: { rateLimit: { group: 'own' } },
      handler: ok,
    })
    expect(await answers('/', 'POST')).toEqual(EACH_ONCE)
  })

  test('a route with identify, while other routes count by address', async () => {
    await app.register(rateLimit, { limit: '1/min' })
    const config = { rateLimit: { identify } }
    app.get('/', { config, [stage]: authenticate }, ok)
    expect(await answers('/')).toEqual(EACH_ONCE)
  })
})

test('authentication in a hook of a not-found handler', async () => {
  await register(app)
  app.get('/', ok)
  app.setNotFoundHandler({ preHandler: authenticate }, (_request, reply) => reply.code(404).send('none'))
  expect(await answers('/nowhere')).toEqual(NONE_FOUND)
})

test('a request that is passed to the not-found handler is decided once, by the options of its route', async () => {
  const limiter = createLimiter({ limit: '5/min' })
  await app.register(rateLimit, { limiter, identify })
  app.get('/', { preHandler: authenticate, config: { rateLimit: { cost: 2 } } }, (_request, reply) =>
    reply.callNotFound(),
  )
  expect((await get('/', { headers: { 'x-user': 'a' } })).status).toBe(404)
  expect(await limiter.peek('a')).toMatchObject({ limits: [{ remaining: 3 }] })
})

test('each request is decided once, even if several hooks could decide it', async () => {
  const asked = jest.fn(identify)
  const limiter = createLimiter({ limit: '9/min' })
  app.get('/early', { preHandler: authenticate }, ok)
  await app.register(rateLimit, { limiter, identify: asked })
  app.get('/', { preHandler: authenticate }, ok)
  for (const path of ['/', '/early', '/nowhere', '/', '/early'])
    await get(path, { headers: { 'x-user': 'a' } })
  expect(asked).toHaveBeenCalledTimes(5)
  expect(await limiter.peek('a')).toMatchObject({ limits: [{ remaining: 5 }] })
})

test('an array of hooks that several routes share is not changed', async () => {
  const shared = [authenticate]
  app.register(async (inner) => {
    await register(inner)
    inner.get('/in', { preHandler: shared }, ok)
    inner.get('/in2', { preHandler: shared }, ok)
  })
  app.register(async (outer) => void outer.get('/out', { preHandler: shared }, ok))
  expect(await answers('/in')).toEqual(EACH_ONCE)
  expect(await answers('/in2')).toEqual([429, 429, 429, 429])
  expect(await answers('/out')).toEqual([200, 200, 200, 200])
  expect(shared).toEqual([authenticate])
})

test('a request that authentication rejects is not counted', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  await app.register(rateLimit, { limiter, identify })
  app.get('/', { onRequest: (_request, reply) => void reply.code(401).send() }, ok)
  expect(await answers('/')).toEqual([401, 401, 401, 401])
  expect(await limiter.peek({ id: '127.0.0.1', kind: 'ip' })).toMatchObject({ allowed: true })
})

describe('by address, without authentication', () => {
  test.each<[string, Partial<RateLimitPluginOptions>]>([
    ['no identify', {}],
    ['byIp', { identify: byIp() }],
  ])('%s: it guards the authentication that is added after it', async (_, options) => {
    const authenticated = jest.fn(async () => {})
    await app.register(rateLimit, { limit: '2/min', ...options })
    app.addHook('onRequest', authenticated)
    app.get('/', { onRequest: authenticated }, ok)
    expect(await answers('/')).toEqual([200, 200, 429, 429])
    expect(authenticated).toHaveBeenCalledTimes(4)
  })

  test('with the option hook it runs last in that stage, for skip or cost', async () => {
    await app.register(rateLimit, {
      limit: '1/min',
      hook: 'onRequest',
      skip: (request) => request.who === 'a',
    })
    addHook(app, 'onRequest')
    app.get('/', ok)
    expect(await answers('/')).toEqual([200, 200, 429, 200])
  })
})

test('runLast returns false if Fastify keeps its hooks in another form', () => {
  for (const request of [{}, { [Symbol('fastify.context')]: { onRequest: null } }])
    expect(runLast(request as unknown as FastifyRequest, 'onRequest', () => {})).toBe(false)
})

test('a guard by address and a limiter by plan in one stage: the guard decides first, each decides once', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  await app.register(rateLimit, { limiter, group: 'guard', limit: '5/min', identify: byIp(), headers: false })
  await app.register(rateLimit, { limiter, hook: 'onRequest', identify })
  app.get('/', { onRequest: authenticate }, ok)
  expect(await answers('/')).toEqual(EACH_ONCE)
  expect((await get('/', { headers: { 'x-user': 'd' } })).status).toBe(200)
  expect((await get('/', { headers: { 'x-user': 'e' } })).status).toBe(429)
})

describe('a warning if the option hook names too early a stage', () => {
  const warningsOf = async (options: object, route: object): Promise<string[]> => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await register(app, options)
    app.get('/', route, ok)
    for (let i = 0; i < 3; i += 1) await answers('/')
    await new Promise((resolve) => setImmediate(resolve))
    const told = warn.mock.calls.map(([message]) => String(message))
    warn.mockRestore()
    return told
  }

  test.each(['onRequest', 'preValidation'] as const)(
    '%s, and authentication in preHandler: once',
    async (hook) => {
      const told = await warningsOf({ hook, limit: '99/min' }, { preHandler: authenticate })
      expect(told).toEqual([expect.stringContaining(`in the stage ${hook},`)])
      expect(told[0]).toContain("hook: 'preHandler'")
    },
  )

  test('none if identify finds the user', async () => {
    expect(await warningsOf({ hook: 'onRequest' }, { onRequest: authenticate })).toEqual([])
  })

  test('none if there is no user', async () => {
    expect(await warningsOf({ hook: 'onRequest', limit: '99/min' }, {})).toEqual([])
  })

  test('none about the stage if identify returns the address itself', async () => {
    const identify = (request: FastifyRequest): string => request.ip
    const told = await warningsOf(
      { hook: 'onRequest', limit: '99/min', identify },
      { preHandler: authenticate },
    )
    expect(told).toEqual([expect.stringContaining('An id is an IP address')])
  })

  test('none if the second call of identify throws', async () => {
    const asked = new WeakSet<FastifyRequest>()
    const once = (request: FastifyRequest): undefined => {
      if (asked.has(request)) throw new Error('asked again')
      asked.add(request)
    }
    const options = { hook: 'onRequest', limit: '99/min', identify: once }
    expect(await warningsOf(options, { preHandler: authenticate })).toEqual([])
  })
})
