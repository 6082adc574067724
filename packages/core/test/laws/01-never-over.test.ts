import fc from 'fast-check'
import { testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, redisStore, type LimitOptions } from '../../src/index.js'
import { benches, closeBenches, START_MS, type Bench } from '../support/benches.js'
import {
  advance,
  forAll,
  mostInAnyWindow,
  play,
  schedule,
  toUs,
  type Admitted,
} from '../support/schedules.js'
import { untried, variants, windowOf } from '../support/variants.js'
import { closesWithTest } from '../support/faults.js'

afterAll(closeBenches)

const WINDOW_MS = 1000
const EIGHTH_US = WINDOW_MS * 125

/**
 * A request after each step, which is how much time passes and how far the store's clock goes back, in µs. Resolves with the most
 * that were let in in any true window.
 */
async function mostByClockThatGoesBack(
  bench: Bench,
  limit: LimitOptions,
  steps: readonly (readonly [gapUs: number, backUs: number])[],
): Promise<number> {
  const clock = { now: START_MS - (START_MS % WINDOW_MS) }
  const limiter = bench.limiter({ limit }, clock)
  const admitted: Admitted[] = []
  let behindUs = 0
  for (const [gapUs, backUs] of steps) {
    advance(clock, gapUs - backUs)
    behindUs += backUs
    const { allowed } = await limiter.consume('acme')
    if (allowed) admitted.push({ atUs: toUs(clock) + behindUs, cost: 1 })
  }
  return mostInAnyWindow(admitted, WINDOW_MS)
}

test('every algorithm of the registry is tried by the laws', () => {
  expect(untried).toEqual([])
})

describe.each(benches)('law 1, never over, on $store', (bench) => {
  test.each(variants)('$name', async (variant) => {
    const cases = fc.integer({ min: 1, max: 12 }).chain((quota) => {
      const windowMs = windowOf(variant, 1000)
      return fc.record({
        quota: fc.constant(quota),
        windowMs: fc.constant(windowMs),
        steps: schedule(quota, windowMs),
      })
    })
    await forAll(cases, async ({ quota, windowMs, steps }) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: variant.limit(quota, windowMs) }, clock)
      const { admitted } = await play(limiter, clock, steps)
      expect(mostInAnyWindow(admitted, windowMs)).toBeLessThanOrEqual(variant.worstCase(quota))
    })
  })

  /** A window on the calendar begins whenever the clock says so. */
  const steady = variants.filter(({ algorithm }) => algorithm !== 'calendar-window')

  test.each(steady)('$name, with a clock that goes back', async (variant) => {
    const eighths = (most: number): fc.Arbitrary<number> =>
      fc.integer({ min: 0, max: most }).map((n) => n * EIGHTH_US)
    const step = fc.tuple(
      fc.oneof(eighths(3), fc.integer({ min: 0, max: EIGHTH_US })),
      fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: eighths(20) }),
    )
    const cases = fc.tuple(
      fc.integer({ min: 1, max: 4 }),
      fc.array(step, { minLength: 10, maxLength: 30, size: 'max' }),
    )
    await forAll(cases, async ([quota, steps]) => {
      const most = await mostByClockThatGoesBack(bench, variant.limit(quota, WINDOW_MS), steps)
      expect(most).toBeLessThanOrEqual(variant.worstCase(quota))
    })
  })

  test('a clock that goes back over the edge of a sliding window, again and again', async () => {
    const limit = { quota: 3, window: WINDOW_MS, algorithm: 'sliding-window' } as const
    const back = [19, 0, 10, 0, 9, 0, 17]
    const steps = [2, 1, 1, 1, 0, 1, 0].map((gap, i): [number, number] => [
      gap * EIGHTH_US,
      (back[i] ?? 0) * EIGHTH_US,
    ])
    expect(await mostByClockThatGoesBack(bench, limit, steps)).toBeLessThanOrEqual(6)
  })

  /** Units given back by the key alone were never used, in truth. They still count then, and of a bucket they are all there. */
  test.each(variants)('$name, with units given back by the key', async (variant) => {
    const windowMs = windowOf(variant, 1000)
    const isLate = variant.algorithm === 'sliding-log' || variant.algorithm === 'sliding-window'
    const step = fc.record({
      gapUs: fc.integer({ min: 0, max: windowMs * 600 }),
      cost: fc.integer({ min: 1, max: 4 }),
      /** Whether the request was cancelled, so that its units are to go back: at once, or from a later step. */
      isCancelled: fc.boolean(),
      isAtOnce: fc.constantFrom(true, !isLate),
      givesBack: fc.boolean(),
    })
    await forAll(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: variant.limit(8, windowMs) }, clock)
      const admitted: Admitted[] = []
      let cancelled: Admitted[] = []
      for (const { gapUs, cost, isCancelled, isAtOnce, givesBack } of steps) {
        advance(clock, gapUs)
        const atUs = toUs(clock)
        cancelled = cancelled.filter((one) => atUs - one.atUs < windowMs * 1000)
        if (givesBack) for (const one of cancelled.splice(0)) await limiter.refund('acme', one.cost)
        const { allowed } = await limiter.consume('acme', { cost })
        if (allowed) (isCancelled ? cancelled : admitted).push({ atUs, cost })
        if (isAtOnce) for (const one of cancelled.splice(-1)) await limiter.refund('acme', one.cost)
      }
      expect(mostInAnyWindow(admitted, windowMs)).toBeLessThanOrEqual(variant.worstCase(8))
    })
  })

  test('large quotas over a month, in a log of slots', async () => {
    const cases = fc
      .integer({ min: 129, max: 5000 })
      .chain((quota) => fc.record({ quota: fc.constant(quota), steps: schedule(quota, 30 * 86_400_000) }))
    await forAll(cases, async ({ quota, steps }) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: `${quota}/30 d` }, clock)
      const { admitted } = await play(limiter, clock, steps)
      expect(mostInAnyWindow(admitted, 30 * 86_400_000)).toBeLessThanOrEqual(quota)
    })
  })

  test('two bursts around the turn of a minute: 100 of 200 requests pass', async () => {
    const clock = { now: Date.UTC(2026, 0, 1, 0, 0, 59) }
    const limiter = bench.limiter({ limit: '100/min' }, clock)
    const burst = (): Promise<boolean[]> =>
      Promise.all(Array.from({ length: 100 }, async () => (await limiter.consume('acme')).allowed))
    const before = await burst()
    clock.now += 2000
    const after = await burst()
    expect([...before, ...after].filter(Boolean)).toHaveLength(100)
  })

  test('thousands of requests in one millisecond all count', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: '3000/min' }, clock)
    const decisions = await Promise.all(Array.from({ length: 5000 }, () => limiter.consume('acme')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3000)
  })
})

test('several clients on one Redis admit the quota once, by the clock of Redis', async () => {
  const prefix = testPrefix()
  const clients = Array.from(
    { length: 4 },
    () => new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 }),
  )
  const limiters = clients.map((client) =>
    closesWithTest(
      createLimiter({
        limit: '100/10 s',
        store: redisStore(client, { prefix }),
        deadlineMs: 10_000,
        onStoreFailure: 'closed',
      }),
    ),
  )
  const decisions = await Promise.all(
    limiters.flatMap((limiter) => Array.from({ length: 200 }, () => limiter.consume('acme'))),
  )
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
  expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']))
  for (const client of clients) client.disconnect()
})
