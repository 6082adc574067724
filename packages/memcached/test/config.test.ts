// Bad input is refused when the store or the limiter is made, with what to write instead.
import { createLimiter, type LimiterOptions } from '@tollgate/core'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { memcachedStore, type Memcached } from '../src/index.ts'

const ADDRESS = '127.0.0.1:1'
const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeAll(() => process.on('unhandledRejection', note))
afterAll(() => process.off('unhandledRejection', note))

test.each<[unknown, object, RegExp]>([
  [undefined, {}, /^servers: got undefined, expected a server such as '127.0.0.1:11211'/],
  [{}, {}, /^servers: got .*, expected a server .* or a client of the package memjs or memcached/],
  [[], {}, /^servers: got an empty array, expected a server/],
  ['h:1,h2:1', {}, /^servers: got a string of 8 characters, expected .*, or several as a list/],
  ['memcached://h:1', {}, /^servers: .*, without a scheme/],
  ['h:0', {}, /^servers: got a string of 3 characters/],
  ['-', {}, /^servers: got a string of 1 character, /],
  [[ADDRESS, 7], {}, /^servers\[1\]: got 7, expected a server such as/],
  [['localhost:1', 'LOCALHOST:1'], {}, /^servers\[1\]: .* expected each server once/],
  [{ incr() {}, decr() {}, get() {} }, {}, /^servers: got .* expected a server/],
  [ADDRESS, { prefix: 'a b' }, /^prefix: got 'a b', expected 1 to 64 letters/],
  [ADDRESS, { maxCounters: 0 }, /^maxCounters: got 0, expected a whole number from 1/],
  [ADDRESS, { connect: true }, /^connect: got true, expected a function that returns a socket/],
  [ADDRESS, { now: 7 }, /^now: got 7, expected a function that returns ms/],
  [ADDRESS, { now: async () => 7 }, /^what now returned: got a promise, expected a time in ms/],
  [ADDRESS, { ttl: 7 }, /^memcachedStore\.ttl: there is no such option here/],
  [
    { perform() {}, incrSeq() {} },
    { connect() {} },
    /^connect: it opens connections to servers, but a client opens its own/,
  ],
])('memcachedStore(%p, %p) is refused', (servers, options, message) => {
  expect(() => memcachedStore(servers as Memcached, options)).toThrow(message)
})

test.each<[LimiterOptions, RegExp]>([
  [
    { limit: '50/s burst 100' },
    /^limit: this store cannot count algorithm: 'token-bucket'; .*: write '50\/s', which it counts by algorithm: 'sliding-window'$/,
  ],
  [
    { plans: { free: [{ quota: 5, window: 'h', burst: 9, name: 'calls' }, '5/min'] } },
    /^plans\.free: this store cannot count algorithm: 'token-bucket' \(the limit 'calls'\); .*: write '5\/h', which it counts by/,
  ],
  [
    { limit: { quota: 5, window: 'min', algorithm: 'sliding-log' } },
    /cannot count algorithm: 'sliding-log'.*: write '5\/min', which it counts by algorithm: 'sliding-window'$/,
  ],
  [{ limit: '5 concurrent' }, /cannot count requests in flight: leave '5 concurrent' out, or use redisStore/],
  [{ plans: { free: { limits: '5/min', wait: { maxDelay: '1s' } } } }, /books no places/],
  [{ plans: { free: { limits: '5000/min', lease: true } } }, /grants no leases/],
  [
    { limit: '5/2900 d' },
    /used units of the limit '2900-days' count for 5800 days, but this store keeps counts for at most \d+ days/,
  ],
  [{ limit: '20000000000/min' }, /a quota of 20000000000, but this store counts only to 10000000000/],
])('a limiter on it with %p is refused', (options, message) => {
  expect(() => createLimiter({ ...options, store: memcachedStore(ADDRESS) })).toThrow(message)
})

test('two stores on the same servers and prefix are one place: a second limiter needs a name', async () => {
  const first = createLimiter({ limit: '5/min', store: memcachedStore([ADDRESS, '127.0.0.1:2']) })
  const again = (): unknown =>
    createLimiter({ limit: '5/min', store: memcachedStore(['127.0.0.1:2', ADDRESS]) })
  expect(again).toThrow(/another limiter without a name already counts in this store/)
  await createLimiter({ limit: '5/min', store: memcachedStore(ADDRESS, { prefix: 'other' }) }).close()
  await first.close()
})

test.each([
  ['nothing', () => undefined],
  ['a promise', async () => undefined],
  ['a promise that rejects', () => Promise.reject(new Error('connect'))],
  ['what is no socket', () => ({})],
])('a connect that gives %s is a fault of the store that says so', async (_, given) => {
  const store = memcachedStore(ADDRESS, { connect: given as never, prefix: 'connect' })
  const limiter = createLimiter({ limit: '5/min', store, warnings: false })
  const faults: string[] = []
  limiter.on('storeError', ({ message }) => void faults.push(message))
  expect((await limiter.consume('acme')).source).toBe('local')
  expect(faults[0]).toContain('connect must return a socket')
  await limiter.close()
  await new Promise(setImmediate)
  expect(unhandled).toEqual([])
})

test('a socket that comes late is closed', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  const late = async (): Promise<Socket> => {
    sockets.push(connect(port, '127.0.0.1'))
    return sockets.at(-1) as Socket
  }
  const store = memcachedStore(`127.0.0.1:${port}`, { connect: late as never, prefix: 'late' })
  const limiter = createLimiter({ limit: '5/min', store, warnings: false })
  expect((await limiter.consume('acme')).source).toBe('local')
  await limiter.close()
  const wereClosed = sockets.map(({ destroyed }) => destroyed)
  for (const socket of sockets) socket.destroy()
  server.close()
  expect(wereClosed.length).toBeGreaterThan(0)
  expect(wereClosed).not.toContain(false)
})

test('a limiter that was closed leaves a store that another can use', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const store = memcachedStore(`127.0.0.1:${(server.address() as AddressInfo).port}`)
  await createLimiter({ limit: '5/min', store }).close()
  const limiter = createLimiter({ limit: '5/min', store, onStoreFailure: 'closed', warnings: false })
  expect((await limiter.consume('acme')).source).toBe('closed')
  await limiter.close()
  server.close()
})
