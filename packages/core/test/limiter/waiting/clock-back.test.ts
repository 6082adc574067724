// Requests in line while the clock of their store goes back: as where its time was set, or a shard moved to a server whose clock is
// behind.
import { setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Store } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { outcomeOf, requestOf, setOf, waiting } from '../../support/store-requests.js'
import { bound } from './waiting-bench.js'

afterAll(closeBenches)

const STORES: readonly (readonly [name: string, make: (now: () => number) => Store])[] = [
  ['memory', (now) => memoryStore({ now })],
  ['Redis', (now) => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
]
const STEPS = [
  ['an hour', 3_600_000],
  ['three seconds', 3000],
] as const
/** What the limit lets through in twice as long as anybody waits. */
const MANY = 45

function placeOf(n: number, set: LimitSet): StoreRequest {
  const hold = { kind: 'place', id: `hold-${String(n).padStart(7, '0')}`, lengthUs: 1_000_000 } as const
  return { ...requestOf('k', set), hold: { ...hold, slackUs: 50_000, most: 100 } }
}

describe.each(STORES)('in %s', (_, make) => {
  test.each(STEPS)('a line stays as it is when the clock goes back by %s', async (_by, ms) => {
    const clock = { now: START_MS }
    const store = make(() => clock.now)
    const set = waiting(setOf('10/s burst 1'))
    const delayOf = async (n: number): Promise<number | undefined> => {
      const { hold } = await outcomeOf(store, placeOf(n, set))
      return hold && hold.delayUs / 1000
    }
    await outcomeOf(store, requestOf('k', set))
    for (const n of [1, 2, 3]) expect(await delayOf(n)).toBe(n * 100)
    clock.now -= ms
    // Those that were booked before are known by their ids.
    for (const n of [1, 2, 3, 4]) expect(await delayOf(n)).toBe(n * 100)
    clock.now += 250
    expect(await delayOf(3)).toBe(50)
    expect(await delayOf(5)).toBe(250)
    // As soon as nobody is in line, and the bucket has drained, all is as it was.
    clock.now += 700
    expect(await delayOf(6)).toBe(0)
    expect(await delayOf(7)).toBe(100)
  })

  test.each(STEPS)('a clock that goes back by %s keeps nobody waiting', async (_by, ms) => {
    let behindMs = 0
    // Processes have clocks of their own, which do not step with the store's.
    const store = bound(
      make(() => Date.now() - behindMs),
      { testClock: undefined },
    )
    const plans = { drip: { limits: '20/s burst 1', wait: { maxDelay: '1s' } } }
    const limiter = createLimiter({ plans, defaultPlan: 'drip', store, deadlineMs: 10_000, warnings: false })
    try {
      const answered: number[] = []
      const early = Array.from({ length: 5 }, async (__, i) => {
        await limiter.consume('acme')
        answered.push(i)
      })
      while (limiter.stats().waiting.booked < 4) await sleep(1)
      behindMs = ms
      const later: Promise<unknown>[] = []
      let passed = 0
      while (answered.length < early.length && passed < MANY) {
        later.push(
          Promise.resolve(limiter.consume('acme')).then(({ allowed }) => (passed += allowed ? 1 : 0)),
        )
        await sleep(5)
      }
      expect(answered.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
      const { late } = limiter.stats().waiting
      if (late === 0) expect([answered, passed]).toEqual([[0, 1, 2, 3, 4], 0])
      await Promise.all([...early, limiter.close(), ...later])
    } finally {
      await limiter.close()
    }
  })
})
