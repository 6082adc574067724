// Clients that wait as long as they are told are let in, also where units count for longer than a window.
import { memoryStore, type Store } from '@tollgate/core'
import { memcachedStore } from '@tollgate/memcached'
import { tollgateStore as expressStore } from '@tollgate/stores/express-rate-limit'
import { tollgateStore as fastifyStore, type FastifyHits } from '@tollgate/stores/fastify-rate-limit'
import { tollgateStore as nestStore } from '@tollgate/stores/nestjs-throttler'
import type { StoreOptions } from '@tollgate/stores/express-rate-limit'
import { eventually, startMemcached, testPrefix, type MemcachedServer } from '@tollgate/testing'

const MINUTE = 60_000
/** A whole hour, where windows of a minute begin. */
const HOUR = 1_800_000_000_000

let memcached: MemcachedServer
let now: number
const closers: (() => unknown)[] = []
beforeAll(async () => {
  memcached = await startMemcached()
})
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})
afterAll(() => memcached.stop())

const clock = { now: (): number => now }
const options: StoreOptions = { deadlineMs: 10_000, denials: false }
const places: [string, () => Store, StoreOptions][] = [
  ['sliding windows in memory', () => memoryStore(clock), { ...options, algorithm: 'sliding-window' }],
  ['fixed windows in memory', () => memoryStore(clock), { ...options, algorithm: 'fixed-window' }],
  [
    'sliding windows in Memcached',
    () => memcachedStore(memcached.address, { prefix: testPrefix(), ...clock }),
    options,
  ],
  [
    'fixed windows in Memcached',
    () => memcachedStore(memcached.address, { prefix: testPrefix(), ...clock }),
    { ...options, algorithm: 'fixed-window' },
  ],
]
/** How long after the beginning of a window the first request comes, in ms. */
const starts = [0, 1, 30_000, 59_999]
const cases = places.flatMap(([place, make, given]) => starts.map((at) => [place, at, make, given] as const))

/** The header that clients obey. */
const seconds = (ms: number): number => Math.ceil(ms / 1000) * 1000

describe.each(cases)('%s, %i ms after a window began', (_, at, make, given) => {
  beforeEach(() => {
    now = HOUR + at
  })

  test('a limit that is a function', async () => {
    const store = expressStore(make(), { ...given, warnings: false })
    closers.push(() => store.shutdown())
    store.init({ windowMs: MINUTE, limit: () => 1 })
    await store.increment('acme')
    const { totalHits, resetTime } = await store.increment('acme')
    expect(totalHits).toBeGreaterThan(1)
    now += seconds(resetTime.getTime() - Date.now())
    expect((await store.increment('acme')).totalHits).toBe(1)
  })

  test.each([1, 3])('continueExceeding, with a max of %i', async (max) => {
    const made = fastifyStore(make(), given)
    closers.push(() => made.close())
    const store = new made({ max, timeWindow: MINUTE, continueExceeding: true })
    const ask = async (how: 'incr' | 'read' = 'incr'): Promise<FastifyHits> =>
      new Promise((resolve, reject) =>
        store[how](
          'acme',
          (error, hits) => (error ? reject(error) : resolve(hits as FastifyHits)),
          MINUTE,
          max,
        ),
      )
    for (let i = 0; i < max; i += 1) expect((await ask()).current).toBe(i + 1)
    await ask()
    // While it is refused, its own window may have room again.
    now += MINUTE - 1
    const { current, ttl } = await ask()
    expect(current).toBeGreaterThan(max)
    expect(ttl).toBeGreaterThanOrEqual(MINUTE)
    now += 10_000
    const left = await ask('read')
    expect(left.current).toBeGreaterThan(max)
    expect(left.ttl).toBeLessThanOrEqual(ttl - 10_000)
    now += seconds(left.ttl)
    expect((await ask()).current).toBeLessThanOrEqual(max)
  })

  test('a block', async () => {
    const storage = nestStore(make(), given)
    closers.push(() => storage.onApplicationShutdown())
    const ask = async (): Promise<[boolean, number]> => {
      const { isBlocked, timeToBlockExpire } = await storage.increment('acme', 10_000, 1, MINUTE, 'default')
      return [isBlocked, timeToBlockExpire * 1000]
    }
    await ask()
    const [isBlocked, wait] = await ask()
    expect(isBlocked).toBe(true)
    expect(wait).toBeGreaterThanOrEqual(MINUTE)
    expect(wait).toBeLessThanOrEqual(2 * MINUTE)
    now += MINUTE - 1
    expect((await ask())[0]).toBe(true)
    // What was refused while its own window had room goes back behind the answer.
    const limits = { quota: 1, window: 10_000, ...(given.algorithm && { algorithm: given.algorithm }) }
    const subject = { id: 'default acme', kind: 'id', limits } as const
    await eventually(async () => (await storage.limiter.peek(subject)).limits[0]?.used === 0)
    now += wait - (MINUTE - 1)
    expect((await ask())[0]).toBe(false)
  })
})
