import { testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter, type LimitInput } from '../../src/index.js'
import {
  benches,
  closeBenches,
  redisOfAnotherProcess,
  sharedRedis,
  START_MS,
  type Clock,
} from '../support/benches.js'
import { HOUR_MS, variants, type Variant } from '../support/variants.js'
import { closesWithTest } from '../support/faults.js'

afterAll(closeBenches)
afterEach(() => jest.restoreAllMocks())

/** Calls `run` with Date.now() off by `offMs`, as on an application server with a wrong clock. */
async function withClockOff<T>(offMs: number, run: () => Promise<T>): Promise<T> {
  const real = Date.now
  const spy = jest.spyOn(Date, 'now').mockImplementation(() => real() + offMs)
  try {
    return await run()
  } finally {
    spy.mockRestore()
  }
}

describe("law 6, one clock: Redis's own TIME decides", () => {
  const limits: LimitInput[] = [
    '4/10 s',
    { quota: 4, window: '10 s', algorithm: 'sliding-window' },
    { quota: 4, window: '10 s', algorithm: 'fixed-window' },
    { quota: 4, window: '10 s', algorithm: 'token-bucket' },
    { quota: 4, window: 'd', timeZone: 'UTC' },
    { quota: 4, window: 'month' },
  ]

  test.each(limits)('application servers whose clocks are off share one quota: %p', async (limit) => {
    const prefix = testPrefix()
    const server = (): Limiter =>
      closesWithTest(
        createLimiter({
          limit,
          store: redisStore(redisOfAnotherProcess(), { prefix }),
          deadlineMs: 10_000,
          onStoreFailure: 'closed',
        }),
      )
    const allowed: boolean[] = []
    for (const offMs of [0, 30_000, -30_000, 30_000, 3_600_000, -90 * 86_400_000]) {
      const other = server()
      const decision = await withClockOff(offMs, async () => other.consume('acme'))
      expect(decision.source).toBe('store')
      allowed.push(decision.allowed)
    }
    expect(allowed).toEqual([true, true, true, true, false, false])
  })

  test('calendar windows by a clock that is years off are sent again, and counted once', async () => {
    const { limiter, decision } = await withClockOff(-800 * 86_400_000, async () => {
      const store = redisStore(sharedRedis(), { prefix: testPrefix() })
      const made = closesWithTest(createLimiter({ limit: ['10/min', '5/month'], store, deadlineMs: 10_000 }))
      return { limiter: made, decision: await made.consume('acme') }
    })
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([9, 4])
    expect((await limiter.peek('acme')).limits.map(({ remaining }) => remaining)).toEqual([9, 4])
  })
})

const JUMP_MS = 3_600_000

describe.each(benches)('law 6, a clock of the store that jumps, on $store', (bench) => {
  const usedUp = async (
    variant: Variant,
  ): Promise<{ limiter: Limiter; clock: Clock; full: number; windowMs: number }> => {
    const windowMs = variant.algorithm === 'calendar-window' ? HOUR_MS : 60_000
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: variant.limit(10, windowMs) }, clock)
    const full = (await limiter.peek('acme')).limits[0]?.remaining ?? 0
    await limiter.consume('acme', { cost: full })
    return { limiter, clock, full, windowMs }
  }

  test.each(variants)(
    '$name: an hour back frees no units, and denies for no longer than two windows',
    async (variant) => {
      const { limiter, clock, full, windowMs } = await usedUp(variant)
      clock.now -= JUMP_MS
      expect((await limiter.consume('acme')).allowed).toBe(false)
      // Two windows, because used units count in one more window under sliding-window, and a bucket has to drain.
      clock.now += 2 * windowMs
      expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(full)
    },
  )

  test.each(variants)(
    '$name: an hour forward frees used units early, once, and then the limit holds',
    async (variant) => {
      const { limiter, clock, full } = await usedUp(variant)
      clock.now += JUMP_MS
      expect((await limiter.consume('acme', { cost: full })).allowed).toBe(true)
      expect((await limiter.consume('acme')).allowed).toBe(false)
      clock.now -= JUMP_MS
      expect((await limiter.consume('acme')).allowed).toBe(false)
    },
  )
})
