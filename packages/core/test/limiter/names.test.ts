// Limiters of one process that share a store: each has a name of its own, which is part of its keys.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../src/index.js'
import { createHttpLimiter } from '../../src/http/http-limiter.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../support/benches.js'
import { endFaults } from '../support/faults.js'
import { allowed, comesToStay, consume, start } from '../support/outage.js'
import { asyncStore } from '../support/stores.js'

afterAll(closeBenches)
afterEach(endFaults)

const refusal = expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'name' }) as Error
const left = async (limiter: Limiter, id = 'acme'): Promise<unknown> =>
  (await limiter.peek(id)).limits[0]?.remaining

/** Two stores that write the same keys. */
const shared: [what: string, make: () => [Store, Store]][] = [
  [
    'one Redis client and prefix',
    () => {
      const prefix = testPrefix()
      return [redisStore(sharedRedis(), { prefix }), redisStore(sharedRedis(), { prefix })]
    },
  ],
  [
    'one Redis client and prefix, once with replicas',
    () => {
      const prefix = testPrefix()
      const waitForReplicas = { count: 1, timeoutMs: 1 }
      return [redisStore(sharedRedis(), { prefix }), redisStore(sharedRedis(), { prefix, waitForReplicas })]
    },
  ],
  ['one memory store', () => twice(memoryStore())],
  ['one store of the user', () => twice(asyncStore())],
  [
    'two stores of the user with one space',
    () => [0, 1].map(() => asyncStore({ space: SPACE })) as [Store, Store],
  ],
]
const SPACE = {}

function twice(store: Store): [Store, Store] {
  return [store, store]
}

describe.each(shared)('two limiters on %s', (_, make) => {
  const options = { deadlineMs: 5000, local: { instances: 1 } } as const
  let made: Limiter[] = []
  let stores: [Store, Store]
  const limiterOn = (store: Store, own: Partial<LimiterOptions> = {}): Limiter => {
    const limiter = createLimiter({ limit: '5/min', ...options, ...own, store } as LimiterOptions)
    made.push(limiter)
    return limiter
  }
  beforeEach(() => (stores = make()))
  afterEach(async () => {
    await Promise.all(made.map((limiter) => limiter.close()))
    made = []
  })

  test('the second is refused without a name, with another plan and with the same', () => {
    limiterOn(stores[0])
    for (const limit of ['9/min', '5/min']) expect(() => limiterOn(stores[1], { limit })).toThrow(refusal)
    const say = (words: string): void => expect(() => limiterOn(stores[1])).toThrow(words)
    for (const words of ["name: 'login'", 'rateLimit({ limiter, group', 'close()', 'made in a handler'])
      say(words)
  })

  test('a name is for one of them', () => {
    limiterOn(stores[0], { name: 'login' })
    expect(() => limiterOn(stores[1], { name: 'login' })).toThrow(refusal)
    expect(() => limiterOn(stores[1], { name: 'signup' })).not.toThrow()
    expect(() => limiterOn(stores[1])).not.toThrow()
  })

  test('close frees the place at once, also while requests are under way, and only its own', async () => {
    const first = limiterOn(stores[0])
    const pending = first.consume('acme')
    const closing = first.close()
    const second = limiterOn(stores[1])
    await Promise.all([pending, closing, first.close()])
    expect(() => limiterOn(stores[0])).toThrow(refusal)
    expect(await second.close()).toBeUndefined()
    expect(() => limiterOn(stores[0])).not.toThrow()
  })

  test('a limiter that could not be made keeps no place', () => {
    const [store] = stores
    for (const wrong of [
      { limit: 'x' },
      { local: { instances: 0 } },
      { planOf: () => 'a', planCache: { ttlMs: -1 } },
    ]) {
      expect(() => limiterOn(store, wrong as never)).toThrow()
    }
    const adapter = {} as never
    for (const wrong of [{ headers: { standard: 1 } }, { stacked: { 'a b': '1/min' } }]) {
      expect(() => createHttpLimiter(adapter, { limit: '5/min', store, ...wrong } as never)).toThrow()
    }
    expect(() => limiterOn(store)).not.toThrow()
  })
})

test('a store is closed with the last of its limiters', async () => {
  const close = jest.fn()
  const store = asyncStore({ close })
  const [a, b] = ['a', 'b'].map((name) => createLimiter({ limit: '5/min', store, name })) as [
    Limiter,
    Limiter,
  ]
  await Promise.all([a.close(), a.close()])
  expect(close).not.toHaveBeenCalled()
  expect((await b.consume('acme')).source).toBe('store')
  await b.close()
  expect(close).toHaveBeenCalledTimes(1)
})

test('a limiter that could not be made does not hold on to its store', async () => {
  const close = jest.fn()
  let listeners = 0
  const observe = (): (() => void) => {
    listeners += 1
    return () => void (listeners -= 1)
  }
  const store = asyncStore({ close, observe, algorithms: ['sliding-log'] })
  for (const [wrong, path] of [
    [{ headers: { standard: 1 } }, 'headers.standard'],
    [{ group: 'a b' }, 'group'],
    [{ stacked: { export: 'often' } }, 'stacked.export'],
    [{ stacked: { export: '5/month' } }, 'stacked.export'],
  ]) {
    const options = { limit: '5/min', store, ...(wrong as object) } as never
    expect(() => createHttpLimiter({} as never, options)).toThrow(expect.objectContaining({ path }))
  }
  expect(listeners).toBe(0)
  const { limiter } = createHttpLimiter({} as never, { limit: '5/min', store })
  expect(listeners).toBe(1)
  await limiter.close()
  expect([listeners, close.mock.calls.length]).toEqual([0, 1])
})

test('limiters without a store, on other prefixes or on other clients need no names', async () => {
  const prefix = testPrefix()
  const stores = [
    undefined,
    undefined,
    redisStore(sharedRedis(), { prefix }),
    redisStore(sharedRedis(), { prefix: `${prefix}:other` }),
    redisStore(redisOfAnotherProcess(), { prefix }),
  ]
  const limiters = stores.map((store) => createLimiter({ limit: '5/min', ...(store && { store }) }))
  await Promise.all(limiters.map((limiter) => limiter.close()))
  expect(limiters).toHaveLength(5)
})

test.each(['', 'a b', 'a^b', 'a*', 'é', 'x'.repeat(33), 5, null])('a name of %p is refused', (name) => {
  expect(() => createLimiter({ limit: '5/min', name: name as never })).toThrow(refusal)
})

test('a named limiter has all its keys under its name, and the other one those of ever', async () => {
  const prefix = testPrefix()
  const [plain, login] = [undefined, 'login'].map((name) =>
    createLimiter({
      limit: '5/min',
      store: redisStore(sharedRedis(), { prefix }),
      deadlineMs: 5000,
      ...(name !== undefined && { name }),
    }),
  ) as [Limiter, Limiter]
  for (const limiter of [plain, login]) {
    await limiter.consume('acme', { cost: 2 })
    await limiter.scope({ group: 'g', stacked: { s: '3/min' } }).consume('acme')
  }
  const own = ['acme', 'acme!s', 'acme*g']
  await eventually(async () => {
    const keys = (await sharedRedis().keys(`${prefix}/[^!]*`)).map((key) => key.slice(prefix.length + 1))
    expect(keys.sort()).toEqual([...own, ...own.map((key) => `login^${key}`)].sort())
  })
  const decision = await login.consume('acme')
  expect([await left(plain), await left(login)]).toEqual([3, 2])
  expect(await login.refund(decision)).toBe(true)
  expect([await left(plain), await left(login)]).toEqual([3, 3])
  await login.reset('acme')
  expect([await left(plain), await left(login)]).toEqual([3, 5])
  expect(await sharedRedis().exists(`${prefix}/login^acme`, `${prefix}/login^acme*g`)).toBe(0)
  await Promise.all([plain.close(), login.close()])
})

test('what was admitted while Redis was away is counted under the name', async () => {
  const { redis, limiter, client, left: leftOf } = await start({ name: 'login' })
  redis.pause()
  expect(allowed(await consume(limiter, 'acme', 8))).toBe(8)
  redis.resume()
  await eventually(() => limiter.stats().reconciled.units === 8)
  await comesToStay(() => leftOf('acme'), 12)
  const keys = (await client.keys('*/*acme')).map((key) => key.split('/')[1])
  expect(keys).toEqual(['login^acme'])
})
