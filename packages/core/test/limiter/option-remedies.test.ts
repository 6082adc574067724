// What an error says to type, where something of the right kind was given in a wrong way: not called, beside the place
// it belongs to, several in one text, or the address of what was meant.
import { Redis } from 'ioredis'
import { createHttpLimiter } from '../../src/adapter.js'
import {
  byBearerToken,
  byHeader,
  byIp,
  byJwtClaim,
  createLimiter,
  memoryStore,
  redisStore,
  type LimiterOptions,
} from '../../src/index.js'

const rateLimit = (options?: unknown): unknown => createHttpLimiter({} as never, options as never)
const asLimiter = (options?: unknown): unknown => createLimiter(options as LimiterOptions)

test.each<[options: object, message: string]>([
  [{ limit: '50/s', burst: 100 }, "burst: it is a part of a limit: write limit: '50/s burst 100'"],
  [
    { quota: 100, window: 'min' },
    "quota: `quota` and `window` are parts of a limit: write limit: { quota: 100, window: 'min' }",
  ],
  [
    { limit: '50/min', algorithm: 'sliding-log' },
    "algorithm: it is a part of a limit: write limit: { quota: 50, window: 'min', algorithm: 'sliding-log' }",
  ],
  [
    { limit: { quota: 7, window: 'day' }, timeZone: 'Europe/Berlin', anchor: new Date(0) },
    "timeZone: `timeZone` and `anchor` are parts of a limit: write limit: { quota: 7, window: 'day', timeZone: 'Europe/Berlin', anchor: ... }",
  ],
  [
    { plans: { free: '100/min' }, burst: 9 },
    "burst: it is a part of a limit: write it in the plan, such as free: { quota: 100, window: 'min', burst: 9 }",
  ],
])('parts of a limit that stand beside it: %# %p', (options, message) => {
  expect(() => rateLimit(options)).toThrow(expect.objectContaining({ message }))
  expect(() => asLimiter(options)).toThrow(message)
})

test.each<[limit: object, message: string]>([
  [{ limit: 100, window: 'min' }, 'limit: there is no such option here; write quota: 100'],
  [
    { limit: 100, windowMs: 60_000 },
    "limit: there is no such option here; write quota: 100; PATH.windowMs: there is no such option here; write window: '15 min', or a number of ms",
  ],
  [{ rate: 10, burst: 20 }, "rate: there is no such option here; write quota: 10, window: 's'"],
  [
    { capacity: 20, refillRate: 10, period: 's' },
    "capacity: there is no such option here; write burst: 20; PATH.refillRate: there is no such option here; write quota: 10, window: 's'; PATH.period: there is no such option here; write window: '15 min', or a number of ms",
  ],
  // The long form of a plan.
  [{ limit: '100/min' }, 'limit: there is no such option here; did you mean limits?'],
])('the long form of a limit with other names: %j', (limit, message) => {
  for (const [path, options] of [
    ['limit', { limit }],
    ['plans.pro', { plans: { pro: limit } }],
  ] as const) {
    const told = `${path}.${message.replaceAll('PATH', path)}`
    expect(() => asLimiter(options)).toThrow(expect.objectContaining({ message: told }))
  }
})

test.each<[identify: unknown, message: string]>([
  [byHeader, "identify: byHeader was given without calling it: write identify: byHeader('x-api-key')"],
  [byIp, 'identify: byIp was given without calling it: write identify: byIp()'],
  [byBearerToken, 'identify: byBearerToken was given without calling it: write identify: byBearerToken()'],
  [byJwtClaim, "identify: byJwtClaim was given without calling it: write identify: byJwtClaim('sub')"],
])('identify that was not called: %p', (identify, message) => {
  expect(() => rateLimit({ limit: '5/min', identify })).toThrow(expect.objectContaining({ message }))
})

test('several limits in one text of a list', () => {
  expect(() => asLimiter({ limit: ['50/s, 1000/h', '9/d'] })).toThrow(
    "limit[0]: got '50/s, 1000/h', expected a text for each limit: '50/s', '1000/h'",
  )
})

test.each<[store: unknown, message: string]>([
  [
    'redis://10.0.0.1:6379',
    'store: got a string of 21 characters, expected a store: store: redisStore(new Redis(url))',
  ],
  [
    'https://user:secret@eu1-x.upstash.io',
    "store: got a string of 36 characters, expected a store: store: redisStore(new Redis('redis://127.0.0.1:6379')); Redis does not speak HTTP",
  ],
  [memoryStore, 'store: got a function, expected a store, so call it: store: memoryStore()'],
  [redisStore, 'store: got a function, expected a store, so call it: store: redisStore(client)'],
  [
    'redis',
    'store: got a string of 5 characters, expected redisStore(client), memcachedStore(address), memoryStore(), or a store of your own (https://github.com/tollgate-js/tollgate/blob/main/docs/guides/writing-a-store.md says what a store has)',
  ],
])('what is not a store: %p', (store, message) => {
  expect(() => asLimiter({ limit: '5/min', store })).toThrow(expect.objectContaining({ message }))
})

test.each<[options: object, problem: string]>([
  [{ cost: 0 }, 'to let a request pass uncounted use skip: (req) => ...'],
  [{ identify: 'x-api-key' }, "expected a function: (req) => req.user?.id, or byHeader('x-api-key')"],
  [{ hashIds: Buffer.from('x') }, 'got an instance of Buffer, expected a secret string'],
])('a wrong value says what to type: %p', (options, problem) => {
  expect(() => rateLimit({ limit: '5/min', ...options })).toThrow(problem)
})

test('redisStore of a store, or of an object around the client', () => {
  expect(() => redisStore(memoryStore() as never)).toThrow('expected a Redis client: not a store')
  expect(() => redisStore({ client: { eval() {}, evalsha() {} } } as never)).toThrow(
    'expected a Redis client: not an object around it',
  )
})

describe('Redis over HTTP', () => {
  test.each([['http://127.0.0.1:6379'], ['HTTPS://eu1-x.upstash.io'], [new URL('https://127.0.0.1')]])(
    'an address: %s',
    (address) => {
      expect(() => redisStore(address as never)).toThrow(
        "expected a Redis client: Redis does not speak HTTP: write redisStore(new Redis('redis://127.0.0.1:6379')); a client is new Redis(url)",
      )
    },
  )

  test('a client of an HTTP API', () => {
    class Upstash {
      eval(): void {}
      evalsha(): void {}
    }
    expect(() => redisStore(new Upstash() as never)).toThrow(
      'got an instance of Upstash, expected a Redis client: one with a connection, not one over HTTP, new Redis(url)',
    )
  })

  // ioredis takes the scheme for a host, and all behind it for the path of a socket.
  test.each(['http', 'https', 'tcp'])('a client of ioredis that was given a %s address', (scheme) => {
    const client = new Redis(`${scheme}://user:secret@127.0.0.1:6379`, { lazyConnect: true })
    expect(() => redisStore(client)).toThrow(
      new RegExp(
        `^redisStore\\(client\\): the client's address begins with ${scheme}://, but Redis needs redis:// or, with TLS, rediss://: write new Redis\\('redis://127.0.0.1:6379'\\)$`,
      ),
    )
    client.disconnect()
  })

  test('a client on a socket of a host is fine', () => {
    const client = new Redis('/run/redis/redis.sock', {
      lazyConnect: true,
      autoResendUnfulfilledCommands: false,
    })
    expect(redisStore(client)).toHaveProperty('consume')
    client.disconnect()
  })
})

test.each([
  ['ioredis', { eval() {}, evalsha() {}, reset() {} }],
  ['node-redis', { eval() {}, evalSha() {} }],
])('a client of %s is not a store', (_, client) => {
  expect(() => asLimiter({ limit: '5/min', store: client })).toThrow(
    /^store: got a Redis client, expected a store made from it: store: redisStore\(client\)$/,
  )
})
