// What express-rate-limit and express-slow-down do with their store beside counting.
import { memoryStore, redisStore, type Store } from '@tollgate/core'
import { tollgateStore, type StoreOptions, type TollgateStore } from '@tollgate/stores/express-rate-limit'
import { eventually, serveHandler, testPrefix, testRedisUrl, type Served } from '@tollgate/testing'
import express, { type RequestHandler } from 'express'
import { rateLimit, type Options } from 'express-rate-limit'
import { slowDown } from 'express-slow-down'
import { Redis } from 'ioredis'

const MINUTE = 60_000
const START = 1_800_000_000_000
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function serve(...handlers: RequestHandler[]): Promise<Served> {
  const app = express()
  app.use(...handlers)
  app.get('/', (request, response) => {
    const { rateLimit: seen, slowDown: slowed } = request as { rateLimit?: object; slowDown?: object }
    response.status(Number(request.query['status'] ?? 200)).json({ ...seen, ...slowed })
  })
  const served = await serveHandler(app)
  closers.push(() => served.close())
  return served
}

/** What the middleware has logged. */
let logged: string[]
beforeEach(() => void (logged = []))
const log = (...given: unknown[]): void => void logged.push(given.map(String).join(' '))
const limited = (store: TollgateStore, options: Partial<Options> = {}): RequestHandler =>
  rateLimit({
    ...{ windowMs: MINUTE, limit: 2, store, keyGenerator: () => 'acme', logger: { warn: log, error: log } },
    ...options,
  })

const statusesOf = async ({ url }: Served, count: number, path = ''): Promise<number[]> => {
  const all: number[] = []
  for (let i = 0; i < count; i += 1) all.push((await fetch(url + path)).status)
  return all
}

/** Counts how often the middleware has taken a request back. */
function countDecrements(store: TollgateStore): () => number {
  let [begun, over] = [0, 0]
  const decrement = store.decrement.bind(store)
  store.decrement = async (key) => {
    begun += 1
    await decrement(key)
    over += 1
  }
  return () => (begun === over ? over : -1)
}

const connect = (): Redis => {
  const redis = new Redis(testRedisUrl())
  closers.push(() => redis.disconnect())
  return redis
}
const stores: [string, () => Store][] = [
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(connect(), { prefix: testPrefix() })],
]

describe.each(stores)('requests that are taken back, in %s', (_, make) => {
  test('failed ones do not count, and refused ones give nothing back, though they failed, too', async () => {
    const store = tollgateStore(make(), { deadlineMs: 10_000 })
    const decrements = countDecrements(store)
    const served = await serve(limited(store, { skipFailedRequests: true }))
    expect(await statusesOf(served, 3, '?status=500')).toEqual([500, 500, 500])
    await eventually(() => decrements() === 3)
    expect(await statusesOf(served, 5)).toEqual([200, 200, 429, 429, 429])
    await eventually(() => decrements() === 6)
    expect(await statusesOf(served, 1)).toEqual([429])
    expect((await store.get('acme'))?.totalHits).toBe(2)
    await store.shutdown()
  })

  test('successful ones do not count, also after some were refused', async () => {
    const store = tollgateStore(make(), { deadlineMs: 10_000 })
    const decrements = countDecrements(store)
    const served = await serve(limited(store, { skipSuccessfulRequests: true }))
    expect(await statusesOf(served, 4, '?status=401')).toEqual([401, 401, 429, 429])
    await store.resetKey('acme')
    expect(await statusesOf(served, 1)).toEqual([200])
    await eventually(() => decrements() === 1)
    expect(await store.get('acme')).toBeUndefined()
    await store.shutdown()
  })
})

test('a request that fails late is taken back, though units of before it came back meanwhile', async () => {
  let now = START
  const store = tollgateStore(memoryStore({ now: () => now }))
  const limit = limited(store, { skipFailedRequests: true })
  const waiting: (() => void)[] = []
  const slow: RequestHandler = (request, _response, next) =>
    request.query['status'] ? waiting.push(next) : next()
  const served = await serve(limit, slow)
  const decrements = countDecrements(store)
  expect(await statusesOf(served, 1)).toEqual([200])
  now += MINUTE - 1
  const late = fetch(`${served.url}?status=500`)
  await eventually(() => waiting.length === 1)
  now += 20
  // The middleware looks at the time of the system.
  const asked = Date.now()
  await eventually(() => Date.now() > asked + 20)
  waiting[0]?.()
  expect((await late).status).toBe(500)
  await eventually(() => decrements() === 1)
  expect(await store.get('acme')).toBeUndefined()
})

test('decrement of a key, called by the application, gives one request back and never more than there were', async () => {
  const store = tollgateStore(memoryStore())
  const served = await serve(limited(store))
  expect(await statusesOf(served, 3)).toEqual([200, 200, 429])
  await store.decrement('acme')
  expect(await statusesOf(served, 2)).toEqual([200, 429])
  for (let i = 0; i < 5; i += 1) await store.decrement('acme')
  expect(await statusesOf(served, 3)).toEqual([200, 200, 429])
})

test('a limit that is a function: every request counts, as without Tollgate, and a warning says so', async () => {
  let now = START
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  closers.push(() => warned.mockRestore())
  const store = tollgateStore(memoryStore({ now: () => now }))
  const served = await serve(limited(store, { limit: () => 2, standardHeaders: 'draft-7' }))
  expect(await statusesOf(served, 4)).toEqual([200, 200, 429, 429])
  expect((await store.get('acme'))?.totalHits).toBe(4)
  const refused = await fetch(served.url)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60'])
  now += MINUTE
  expect(await statusesOf(served, 1)).toEqual([200])
  expect(warned.mock.calls).toEqual([
    [
      expect.stringMatching(/refused requests count/),
      expect.objectContaining({ code: 'TOLLGATE_LIMIT_FUNCTION' }),
    ],
  ])
  await serve(limited(tollgateStore(memoryStore(), { warnings: false }), { limit: () => 2 }))
  expect(warned).toHaveBeenCalledTimes(1)
})

test('a client that keeps asking is let in again if the limit is a number', async () => {
  let now = START
  const served = await serve(limited(tollgateStore(memoryStore({ now: () => now }))))
  const statuses: number[] = []
  for (let i = 0; i < 7; i += 1, now += MINUTE / 4) statuses.push(...(await statusesOf(served, 1)))
  expect(statuses).toEqual([200, 200, 429, 429, 200, 200, 429])
})

test('a limit of 0 refuses all', async () => {
  const served = await serve(limited(tollgateStore(memoryStore()), { limit: 0 }))
  expect(await statusesOf(served, 2)).toEqual([429, 429])
})

test('express-slow-down is told how many there were, also above its delayAfter', async () => {
  let now = START
  const store = tollgateStore(memoryStore({ now: () => now }))
  const slow = slowDown({ windowMs: MINUTE, delayAfter: 2, delayMs: (used) => used - 2, store })
  const { url } = await serve(slow)
  const seen: unknown[] = []
  for (let i = 0; i < 5; i += 1) seen.push(await (await fetch(url)).json())
  expect(seen).toMatchObject(
    [1, 2, 3, 4, 5].map((used) => ({ used, limit: 2, delay: Math.max(used - 2, 0) })),
  )
  now += MINUTE
  expect(await (await fetch(url)).json()).toMatchObject({ used: 1, delay: 0 })
})

test('getKey, resetKey and shutdown', async () => {
  const store = tollgateStore(memoryStore())
  const middleware = rateLimit({ windowMs: MINUTE, limit: 2, store, keyGenerator: () => 'acme' })
  const served = await serve(middleware)
  expect(await middleware.getKey('acme')).toBeUndefined()
  await statusesOf(served, 3)
  const hits = await middleware.getKey('acme')
  expect(hits?.totalHits).toBe(2)
  expect(hits?.resetTime).toBeInstanceOf(Date)
  middleware.resetKey('acme')
  await eventually(async () => (await middleware.getKey('acme')) === undefined)
  expect(await statusesOf(served, 1)).toEqual([200])
  await store.shutdown()
  expect(store.limiter.health().status).toBe('closed')
})

test('keys are what the middleware says: an address is not grouped once more, an empty key is one of its own', async () => {
  let key = ''
  const store = tollgateStore(memoryStore())
  const served = await serve(limited(store, { limit: 1, keyGenerator: () => key }))
  for (key of ['2001:db8::1', '2001:db8::2', '', 'a'.repeat(100_000), '__proto__', '\u0000{x}']) {
    expect([key, await statusesOf(served, 2)]).toEqual([key, [200, 429]])
  }
})

test('its own checks find nothing to complain of', async () => {
  const store = tollgateStore(redisStore(connect(), { prefix: testPrefix() }), { deadlineMs: 10_000 })
  const options = { keyGenerator: undefined, standardHeaders: 'draft-8', skipFailedRequests: true } as const
  const other = tollgateStore(memoryStore())
  // Two in one request, for the check that nobody is counted twice.
  const served = await serve(
    limited(store, options as object),
    limited(other, { ...(options as object), limit: 9 }),
  )
  expect(await statusesOf(served, 4)).toEqual([200, 200, 429, 429])
  expect(logged).toEqual([])
  await store.shutdown()
})

test('passOnStoreError decides where the store cannot answer and the policy is closed', async () => {
  const redis = new Redis(1, '127.0.0.1', {
    lazyConnect: true,
    retryStrategy: () => null,
    disconnectTimeout: 100,
  })
  redis.on('error', () => {})
  const store = tollgateStore(redisStore(redis), { onStoreFailure: 'closed', warnings: false })
  expect(await statusesOf(await serve(limited(store, { passOnStoreError: true })), 3)).toEqual([
    200, 200, 200,
  ])
  expect(logged[0]).toContain('StoreUnavailableError: Service Unavailable: try again later')
  await expect(store.get('acme')).rejects.toMatchObject({
    message: 'Service Unavailable: try again later',
    detail: expect.stringContaining("the store cannot answer, and onStoreFailure is 'closed'"),
    // This client has given up.
    reason: 'closed',
    cause: { reason: 'closed' },
  })
  await expect(store.resetKey('acme')).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE' })
  await store.shutdown()
  redis.disconnect()
})

test.each([
  [8, 4],
  [1, 1],
])(
  'without its store, one of two processes lets half of a limit of %i pass, also if it is a function',
  async (limit, half) => {
    const redis = new Redis(1, '127.0.0.1', {
      lazyConnect: true,
      retryStrategy: () => null,
      disconnectTimeout: 100,
    })
    redis.on('error', () => {})
    closers.push(() => redis.disconnect())
    for (const given of [limit, (): number => limit]) {
      const store = tollgateStore(redisStore(redis, { prefix: testPrefix() }), {
        local: { instances: 2 },
        warnings: false,
      })
      closers.push(() => store.shutdown())
      const served = await serve(limited(store, { limit: given }))
      const statuses = await statusesOf(served, half)
      expect(new Set(statuses)).toEqual(new Set([200]))
      const { totalHits } = await store.increment('other')
      expect((await store.get('other'))?.totalHits).toBe(totalHits)
      expect(await statusesOf(served, 2)).toEqual([429, 429])
    }
  },
)

describe('what cannot work is refused', () => {
  const refusal = (store: unknown, options: unknown = {}): string => {
    try {
      const made = tollgateStore(store as Store, options as StoreOptions)
      closers.push(() => made.shutdown())
      return 'not refused'
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_TOLLGATE_CONFIG' })
      return (error as Error).message
    }
  }

  test.each([
    [undefined, {}, /^store: got undefined, expected redisStore\(client\), /],
    [new Map(), {}, /^store: got /],
    [
      memoryStore(),
      { algorithm: 'sliding' },
      /^algorithm: got 'sliding', expected 'sliding-window' \(there are 'token-bucket', /,
    ],
    [memoryStore(), { deadlineMs: 0 }, /^deadlineMs: got 0, expected a whole number of ms/],
    [memoryStore(), { onStoreFailure: 'pass' }, /^onStoreFailure: got 'pass'/],
    [memoryStore(), { name: 'a b' }, /^name: got 'a b'/],
    [memoryStore(), { prefix: 'rl:' }, /^prefix: .*redisStore\(client, \{ prefix/],
    [memoryStore(), { limit: '5/min' }, /^limit: .*the middleware/],
    [memoryStore(), { store: memoryStore() }, /^store: .*first argument/],
    [memoryStore(), [], /^options: got an empty array, expected an object of options/],
    [memoryStore(), 'login', /^options: got 'login', expected an object of options/],
  ])('arguments %#', (store, options, message) => {
    expect(refusal(store, options)).toMatch(message)
  })

  test('two on one client and prefix, without names of their own', () => {
    const store = redisStore(connect(), { prefix: testPrefix() })
    expect(refusal(store)).toBe('not refused')
    expect(refusal(store)).toMatch(/^name: another limiter without a name already counts in this store/)
    expect(refusal(store, { name: 'login' })).toBe('not refused')
  })

  test.each([
    [{ windowMs: 0 }, 'windowMs: got 0, expected a time in whole ms from 1, such as 60000'],
    [{ windowMs: 1.5 }, 'windowMs: got 1.5, expected a time in whole ms'],
    [{ windowMs: '1 minute' }, "windowMs: got '1 minute', expected a time in whole ms"],
    [{ limit: Number.NaN }, 'limit: got NaN, expected a number of requests from 0'],
    [{ limit: '100' }, "limit: got '100'"],
  ])('options of the middleware: %j', async (options, message) => {
    const store = tollgateStore(memoryStore())
    const served = await serve(limited(store, options as object))
    expect(logged.join()).toContain(`ConfigError: ${message}`)
    // The middleware only logs it. Nothing may look limited that is not.
    expect(await statusesOf(served, 1)).toEqual([500])
    await expect(store.increment('acme')).rejects.toThrow(message)
  })

  test('a bucket, where the limit is not known', () => {
    limited(tollgateStore(memoryStore(), { algorithm: 'token-bucket' }), { limit: () => 5 })
    expect(logged.join()).toContain("algorithm: got 'token-bucket', which cannot count")
  })

  test('a store with two middlewares: neither counts', async () => {
    const store = tollgateStore(memoryStore())
    const served = await serve(limited(store), limited(store, { limit: 50 }))
    expect(logged.join()).toContain(
      "make one for each, with its own name: tollgateStore(store, { name: 'login' })",
    )
    expect(await statusesOf(served, 1)).toEqual([500])
  })

  test('a store that no middleware was made with', async () => {
    await expect(tollgateStore(memoryStore()).increment('acme')).rejects.toThrow(
      'no middleware has called its init',
    )
  })
})

test('other algorithms count, too', async () => {
  let now = START
  const store = tollgateStore(memoryStore({ now: () => now }), { algorithm: 'fixed-window' })
  const served = await serve(limited(store))
  expect(await statusesOf(served, 1)).toEqual([200])
  now += MINUTE - 1
  expect(await statusesOf(served, 2)).toEqual([200, 429])
  now += 1
  expect(await statusesOf(served, 3)).toEqual([200, 200, 429])
})
