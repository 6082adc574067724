// A process that comes late to a place gives its units back, and none of others.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Limiter, type Store } from '../../../src/index.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(closeBenches)

const STORES: readonly (readonly [name: string, make: (clock: Clock) => Store])[] = [
  ['memory', (clock) => memoryStore({ now: () => clock.now })],
  ['Redis', (clock) => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })],
]
const BUCKET = { name: 'bucket', quota: 100, window: 1000, algorithm: 'token-bucket', burst: 10 } as const

describe.each(STORES)('in %s', (_, make) => {
  test.each([1, 3, 10])('a place of %i units of a bucket that have drained gives none back', async (cost) => {
    const clock = { now: START_MS }
    const plans = {
      // The log makes the place a late one: at its time the bucket has long been empty.
      line: { limits: [{ name: 'log', quota: 10, window: 1000 }, BUCKET], wait: { maxDelay: 1000 } },
      plain: { limits: [BUCKET] },
    }
    const local = { instances: 1 }
    const limiter = createLimiter({ plans, store: make(clock), deadlineMs: 10_000, local, warnings: false })
    limiters.push(limiter)
    await limiter.consume({ id: 'acme', plan: 'line' }, { cost: 10 })
    clock.now += 500
    const waits = limiter.consume({ id: 'acme', plan: 'line' }, { cost })
    await eventually(() => limiter.stats().waiting.now === 1)
    // Far beyond the end of its place, before its process finds that out.
    clock.now += 1001
    const plain = await limiter.consume({ id: 'acme', plan: 'plain' }, { cost: 10 })
    expect(plain).toMatchObject({ allowed: true, source: 'store' })
    // It asks again, too late to wait any longer, and all that the bucket has is used.
    expect(await waits).toMatchObject({ allowed: false, source: 'store', violated: ['bucket'] })
    expect(limiter.stats().waiting.late).toBe(1)
    expect((await limiter.peek({ id: 'acme', plan: 'plain' })).limits[0]?.remaining).toBe(0)
  })
})
