// What @fastify/rate-limit does with its store beside counting.
import type { AddressInfo } from 'node:net'
import rateLimit, { type RateLimitPluginOptions } from '@fastify/rate-limit'
import { memoryStore, redisStore } from '@tollgate/core'
import { tollgateStore, type StoreOptions } from '@tollgate/stores/fastify-rate-limit'
import { testPrefix, testRedisUrl } from '@tollgate/testing'
import Fastify, { type FastifyInstance } from 'fastify'
import { Redis } from 'ioredis'

const MINUTE = 60_000
let now: number
let app: FastifyInstance
beforeEach(() => {
  now = 1_800_000_000_000
  app = Fastify()
})
afterEach(() => app.close())

const hello = async (): Promise<string> => 'hello'
/** Registers the plugin with a limit of 2 a minute, and calls of an application by key. */
async function register(
  options: Partial<RateLimitPluginOptions> = {},
  own: StoreOptions = {},
): Promise<void> {
  await app.register(rateLimit, {
    ...{ max: 2, timeWindow: MINUTE, keyGenerator: (request) => String(request.headers['x-key']) },
    store: tollgateStore(memoryStore({ now: () => now }), own),
    ...options,
  })
}

/** Asks over HTTP, once the application listens. */
async function call(url: string, key: string, method = 'GET'): Promise<Response> {
  if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return fetch(`http://127.0.0.1:${port}${url}`, { method, headers: { 'x-key': key } })
}

async function ask(url = '/', key = 'acme', method = 'GET'): Promise<[number, string | null]> {
  const { status, headers } = await call(url, key, method)
  return [status, headers.get('retry-after')]
}

const statusesOf = async (count: number, url = '/', key = 'acme'): Promise<number[]> => {
  const all: number[] = []
  for (let i = 0; i < count; i += 1) all.push((await ask(url, key))[0])
  return all
}

test('a route with a limit of its own has counts of its own, and HEAD is counted as GET', async () => {
  await register()
  app.get('/', hello)
  app.get('/other', hello)
  app.get('/own', { config: { rateLimit: { max: 3 } } }, hello)
  app.post('/own', { config: { rateLimit: { max: 1 } } }, hello)
  expect(await statusesOf(1)).toEqual([200])
  expect(await statusesOf(2, '/other')).toEqual([200, 429])
  expect(await statusesOf(2, '/own')).toEqual([200, 200])
  expect((await ask('/own', 'acme', 'HEAD'))[0]).toBe(200)
  expect((await ask('/own', 'acme', 'HEAD'))[0]).toBe(429)
  expect((await ask('/own'))[0]).toBe(429)
  expect((await ask('/own', 'acme', 'POST'))[0]).toBe(200)
})

test('the routes of a group share their counts', async () => {
  await register()
  const config = { rateLimit: { max: 2, groupId: 'search' } }
  app.get('/a', { config }, hello)
  app.get('/b', { config }, hello)
  app.get('/c', { config: { rateLimit: { max: 2, groupId: 'other' } } }, hello)
  expect(await statusesOf(1, '/a')).toEqual([200])
  expect(await statusesOf(2, '/b')).toEqual([200, 429])
  expect(await statusesOf(1, '/a')).toEqual([429])
  expect(await statusesOf(1, '/c')).toEqual([200])
})

test('a client is forgotten by the documented id', async () => {
  const store = tollgateStore(memoryStore())
  await register({ max: 1, store })
  app.get('/', hello)
  app.get('/search', { config: { rateLimit: { max: 1 } } }, hello)
  app.get('/grouped', { config: { rateLimit: { max: 1, groupId: 'heavy' } } }, hello)
  app.get(
    '/handler',
    { config: { rateLimit: false }, preHandler: app.rateLimit({ max: 1, groupId: 'light' }) },
    hello,
  )
  for (const [url, id] of [
    ['/', 'all acme'],
    ['/search', 'GET/search acme'],
    ['/grouped', 'group:heavy acmeheavy'],
    ['/handler', 'group:light acme'],
  ] as const) {
    expect([url, await statusesOf(2, url)]).toEqual([url, [200, 429]])
    expect([url, await store.limiter.reset({ id, kind: 'id' })]).toEqual([url, true])
    expect([url, await statusesOf(1, url)]).toEqual([url, [200]])
  }
})

test('handlers that belong to no route are kept apart, unless they name a group', async () => {
  await register({ global: false })
  app.get('/a', { preHandler: app.rateLimit({ max: 1 }) }, hello)
  app.get('/b', { preHandler: app.rateLimit({ max: 1 }) }, hello)
  app.get('/c', { preHandler: app.rateLimit({ max: 1, groupId: 'both' }) }, hello)
  app.get('/d', { preHandler: app.rateLimit({ max: 1, groupId: 'both' }) }, hello)
  for (const [url, status] of [
    ['/a', 200],
    ['/b', 200],
    ['/a', 429],
    ['/c', 200],
    ['/d', 429],
  ] as const) {
    expect([url, await statusesOf(1, url)]).toEqual([url, [status]])
  }
})

test('max and timeWindow of each request, as functions', async () => {
  await register({ max: (_request, key) => (key === 'big' ? 3 : 1), timeWindow: async () => 5000 })
  app.get('/', hello)
  expect(await statusesOf(2)).toEqual([200, 429])
  expect(await statusesOf(4, '/', 'big')).toEqual([200, 200, 200, 429])
  now += 5000
  expect(await statusesOf(1)).toEqual([200])
})

test('a max of 0 refuses all, and Infinity none', async () => {
  await register({ max: (_request, key) => (key === 'all' ? Number.POSITIVE_INFINITY : 0) })
  app.get('/', hello)
  expect([await ask(), await ask()]).toEqual([
    [429, '60'],
    [429, '60'],
  ])
  expect(await statusesOf(3, '/', 'all')).toEqual([200, 200, 200])
})

test('ban: 403 after so many refused requests, until one fits again', async () => {
  await register({ ban: 2 })
  app.get('/', hello)
  expect(await statusesOf(7)).toEqual([200, 200, 429, 429, 403, 403, 403])
  now += MINUTE
  // Refused requests took nothing, and none of them counts any more.
  expect(await statusesOf(3)).toEqual([200, 200, 429])
})

test.each([
  [1.5, [200, 200, 429, 403, 403]],
  [1e12, [200, 200, 429, 429, 429]],
  [Number.POSITIVE_INFINITY, [200, 200, 429, 429, 429]],
])('a ban of %p', async (ban, statuses) => {
  await register({ ban })
  app.get('/', hello)
  expect(await statusesOf(5)).toEqual(statuses)
})

test('continueExceeding: a refused request begins a whole window', async () => {
  await register({ continueExceeding: true })
  app.get('/', hello)
  expect(await statusesOf(2)).toEqual([200, 200])
  now += 50_000
  expect(await ask()).toEqual([429, '60'])
  now += 59_999
  expect(await ask()).toEqual([429, '60'])
  now += 59_999
  expect((await ask())[0]).toBe(429)
  now += MINUTE
  // All of it is back, also what was refused though its window had room.
  expect(await statusesOf(2)).toEqual([200, 200])
})

test('continueExceeding with a ban', async () => {
  await register({ continueExceeding: true, ban: 1 })
  app.get('/', hello)
  expect(await statusesOf(5)).toEqual([200, 200, 429, 403, 403])
  now += MINUTE
  expect(await statusesOf(1)).toEqual([200])
})

test('createRateLimit tells without counting', async () => {
  await register({ global: false })
  const check = app.createRateLimit({ max: 2 })
  app.get('/look', async (request) => check(request, { increment: false }))
  app.get('/take', async (request) => check(request))
  const told = async (url: string): Promise<unknown> => (await call(url, 'acme')).json()
  expect(await told('/look')).toMatchObject({ remaining: 2, isExceeded: false, ttl: 0 })
  expect(await told('/take')).toMatchObject({ remaining: 1, isExceeded: false })
  expect(await told('/look')).toMatchObject({ remaining: 1, isExceeded: false, ttl: MINUTE })
  expect(await told('/take')).toMatchObject({ remaining: 0, isExceeded: false })
  expect(await told('/look')).toMatchObject({ remaining: 0, isExceeded: false })
  expect(await told('/take')).toMatchObject({ remaining: 0, isExceeded: true })
})

test('createRateLimit tells of a window that a refused request began', async () => {
  await register({ global: false, continueExceeding: true })
  const check = app.createRateLimit({ max: 1 })
  app.get('/look', async (request) => check(request, { increment: false }))
  app.get('/take', async (request) => check(request))
  const look = async (): Promise<unknown> => (await call('/look', 'acme')).json()
  await statusesOf(3, '/take')
  expect(await look()).toMatchObject({ isExceeded: true, ttl: MINUTE })
  now += 20_000
  expect(await look()).toMatchObject({ isExceeded: true, ttl: 40_000 })
  // It begins anew, while what was refused before still counts.
  await statusesOf(1, '/take')
  now += 10_000
  expect(await look()).toMatchObject({ isExceeded: true, ttl: 50_000 })
  now += 50_000
  expect(await look()).toMatchObject({ isExceeded: false, remaining: 1, ttl: 0 })
})

test('skipOnError decides where the store cannot answer and the policy is closed', async () => {
  const redis = new Redis(1, '127.0.0.1', {
    lazyConnect: true,
    retryStrategy: () => null,
    disconnectTimeout: 100,
  })
  redis.on('error', () => {})
  const store = tollgateStore(redisStore(redis), { onStoreFailure: 'closed', warnings: false })
  await register({ store, skipOnError: true })
  app.get('/', hello)
  expect(await statusesOf(3)).toEqual([200, 200, 200])
  await store.close()
  redis.disconnect()
})

test('two registrations with stores of their names, on one Redis', async () => {
  const redis = new Redis(testRedisUrl())
  const prefix = testPrefix()
  const make = (name: string) => tollgateStore(redisStore(redis, { prefix }), { name, deadlineMs: 10_000 })
  const stores = [make('a'), make('b')]
  expect(() => make('a')).toThrow(/^name: another limiter with the name 'a' already counts in this store/)
  for (const [i, store] of stores.entries()) {
    await app.register(async (part) => {
      await part.register(rateLimit, { max: 1, timeWindow: MINUTE, keyGenerator: () => 'acme', store })
      part.get(`/${i}`, hello)
    })
  }
  expect([await statusesOf(2, '/0'), await statusesOf(2, '/1')]).toEqual([
    [200, 429],
    [200, 429],
  ])
  await Promise.all(stores.map((store) => store.close()))
  redis.disconnect()
})

test('one store for two registrations is refused', async () => {
  const store = tollgateStore(memoryStore())
  void app.register(async (part) => {
    await part.register(rateLimit, { store })
  })
  void app.register(async (part) => {
    await part.register(rateLimit, { store, max: 5 })
  })
  await expect(async () => app.ready()).rejects.toThrow('another middleware already uses it')
})

test.each([
  [{ timeWindow: 'one hour' }, 'timeWindow: got undefined, expected a time in whole ms'],
  [{ timeWindow: 0 }, 'timeWindow: got 0'],
  [{ exponentialBackoff: true }, 'exponentialBackoff: this store cannot double a block'],
])('refused when it is registered: %j', async (options, message) => {
  await expect(register(options as object)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_CONFIG' })
  app = Fastify()
  await expect(register(options as object)).rejects.toThrow(message)
})

test('refused when a route is declared, or at a request', async () => {
  await register({
    max: (_request, key) => (key === 'nan' ? Number.NaN : 5),
    timeWindow: (_, key) => Number(key),
  })
  expect(() => app.get('/a', { config: { rateLimit: { exponentialBackoff: true } } }, hello)).toThrow(
    'exponentialBackoff: ',
  )
  const config = { rateLimit: { groupId: '\ud800' } }
  expect(() => app.get('/b', { config }, hello)).toThrow('groupId: got ')
  app.get('/', async () => 'hello')
  app.setErrorHandler((error, _request, reply) => reply.send((error as Error).message))
  const told = async (key: string): Promise<string> => (await call('/', key)).text()
  expect(await told('nan')).toContain('max: got NaN, expected a number of requests')
  expect(await told('0.5')).toContain('timeWindow: got 0.5, expected a time in whole ms')
})
