import fc from 'fast-check'
import { benches, closeBenches, START_MS } from '../support/benches.js'
import { play, forAll, schedule } from '../support/schedules.js'
import { variants, windowOf } from '../support/variants.js'

afterAll(closeBenches)

describe.each(benches)('law 4, truthful retry, on $store', (bench) => {
  test.each(variants)('$name: admitted after exactly retryAfterMs, and not 1 ms earlier', async (variant) => {
    const windowMs = windowOf(variant, 1000)
    const cases = fc.integer({ min: 1, max: 12 }).chain((quota) =>
      fc.record({
        quota: fc.constant(quota),
        steps: schedule(quota, windowMs),
        cost: fc.integer({ min: 1, max: quota + 1 }),
      }),
    )
    await forAll(cases, async ({ quota, steps, cost }) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: variant.limit(quota, windowMs) }, clock)
      await play(limiter, clock, steps)
      const decision = await limiter.consume('acme', { cost })
      if (decision.allowed) return
      if (decision.retryAfterMs === null) {
        expect(decision.reason).toBe('cost-exceeds-quota')
        clock.now += 100 * windowMs
        expect((await limiter.peek('acme', { cost })).allowed).toBe(false)
        return
      }
      const { retryAfterMs } = decision
      expect(retryAfterMs).toBeGreaterThanOrEqual(1)
      clock.now += retryAfterMs - 1
      expect((await limiter.peek('acme', { cost })).allowed).toBe(false)
      clock.now += 1
      expect((await limiter.consume('acme', { cost })).allowed).toBe(true)
    })
  })

  test.each(variants)('$name: another unit is there after resetMs, and not 1 ms earlier', async (variant) => {
    const windowMs = windowOf(variant, 1000)
    await forAll(schedule(6, windowMs), async (steps) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: variant.limit(6, windowMs) }, clock)
      await play(limiter, clock, steps)
      const [now] = (await limiter.peek('acme')).limits
      if (!now || now.resetMs === 0) return
      clock.now += now.resetMs - 1
      expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(now.remaining)
      clock.now += 1
      expect((await limiter.peek('acme')).limits[0]?.remaining).toBeGreaterThan(now.remaining)
    })
  })

  test('retryAfterMs is the longest wait of several limits, and violated names all that deny', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: ['2/s', '2/min', '100/h'] }, clock)
    await limiter.consume('acme', { cost: 2 })
    expect(await limiter.consume('acme')).toMatchObject({
      allowed: false,
      retryAfterMs: 60_000,
      violated: ['second', 'minute'],
      reason: 'quota-exceeded',
    })
  })

  test('a window over 25 days does not overflow, a window below a second has a wait', async () => {
    const clock = { now: START_MS }
    const long = bench.limiter({ limit: '1/40 d' }, clock)
    await long.consume('acme')
    expect((await long.consume('acme')).retryAfterMs).toBe(40 * 86_400_000)
    const short = bench.limiter({ limit: '1/500ms' }, clock)
    await short.consume('acme')
    expect((await short.consume('acme')).retryAfterMs).toBe(500)
    clock.now += 500
    expect((await short.consume('acme')).allowed).toBe(true)
  })
})
