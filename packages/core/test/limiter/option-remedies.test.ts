// What an error says to type, where something of the right kind was given in a wrong way: not called, beside the place
// it belongs to, several in one text, or the address of what was meant.
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
    'store: got a text of 21 characters, expected a store: store: redisStore(new Redis(url))',
  ],
  [memoryStore, 'store: got a function, expected a store, so call it: store: memoryStore()'],
  [redisStore, 'store: got a function, expected a store, so call it: store: redisStore(client)'],
  [
    'redis',
    'store: got a text of 5 characters, expected redisStore(client), memcachedStore(address), memoryStore(), or a store of your own (https://github.com/tollgate-js/tollgate/blob/main/docs/writing-a-store.md says what a store has)',
  ],
])('what is not a store: %p', (store, message) => {
  expect(() => asLimiter({ limit: '5/min', store })).toThrow(expect.objectContaining({ message }))
})

test.each<[options: object, problem: string]>([
  [{ cost: 0 }, 'to let a request pass uncounted use skip: (req) => ...'],
  [{ identify: 'x-api-key' }, "expected a function: (req) => req.user?.id, or byHeader('x-api-key')"],
  [{ hashIds: Buffer.from('x') }, 'got an instance of Buffer, expected a secret text'],
])('a wrong value says what to type: %p', (options, problem) => {
  expect(() => rateLimit({ limit: '5/min', ...options })).toThrow(problem)
})

test('redisStore of a store, or of an object around the client', () => {
  expect(() => redisStore(memoryStore() as never)).toThrow('expected a Redis client: not a store')
  expect(() => redisStore({ client: { eval() {}, evalsha() {} } } as never)).toThrow(
    'expected a Redis client: not an object around it',
  )
})

test.each([
  ['ioredis', { eval() {}, evalsha() {}, reset() {} }],
  ['node-redis', { eval() {}, evalSha() {} }],
])('a client of %s is not a store', (_, client) => {
  expect(() => asLimiter({ limit: '5/min', store: client })).toThrow(
    /^store: got a Redis client, expected a store made of it: store: redisStore\(client\)$/,
  )
})
