import fc from 'fast-check'
import type { LimitInput } from '../../src/index.js'
import { benches, closeBenches, START_MS } from '../support/benches.js'
import { advance, play, RUNS, schedule } from '../support/schedules.js'
import { variants, windowOf } from '../support/variants.js'

afterAll(closeBenches)

/** Two limits of any algorithms, of which the second is the wider. */
const pairs = fc.record({
  first: fc.constantFrom(...variants),
  second: fc.constantFrom(...variants),
  quota: fc.integer({ min: 1, max: 8 }),
  more: fc.integer({ min: 0, max: 12 }),
  steps: schedule(8, 1000),
  cost: fc.integer({ min: 1, max: 9 }),
})

describe.each(benches)('law 2, all or nothing, on $store', (bench) => {
  test('a denied request changes nothing, in no limit of the subject', async () => {
    await fc.assert(
      fc.asyncProperty(pairs, async ({ first, second, quota, more, steps, cost }) => {
        const clock = { now: START_MS }
        const limits: LimitInput[] = [
          { ...first.limit(quota, 1000), name: 'first' },
          { ...second.limit(quota + more, 1000 * 3), name: 'second' },
        ]
        const limiter = bench.limiter({ limit: limits }, clock)
        await play(limiter, clock, steps)
        advance(clock, 1)
        const before = await limiter.peek('acme')
        const decision = await limiter.consume('acme', { cost })
        if (decision.allowed) return
        expect((await limiter.peek('acme')).limits).toEqual(before.limits)
        expect(decision.limits).toEqual(before.limits)
      }),
      RUNS,
    )
  })

  test('what a denied request asked of one limit is still there for a smaller one (D9)', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: ['10/min', '3/h'] }, clock)
    const allowed = []
    for (let i = 0; i < 8; i += 1) allowed.push((await limiter.consume('acme')).allowed)
    expect(allowed.filter(Boolean)).toHaveLength(3)
    const { limits } = await limiter.peek('acme')
    expect(limits.map(({ remaining }) => remaining)).toEqual([7, 0])
  })

  test.each(variants)(
    'a cost that does not fit leaves room for one that does (D10, D13): $name',
    async (variant) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: { ...variant.limit(10, windowOf(variant, 1000)) } }, clock)
      const { limits } = await limiter.peek('acme')
      const room = limits[0]?.remaining ?? 0
      expect((await limiter.consume('acme', { cost: room - 1 })).allowed).toBe(true)
      expect((await limiter.consume('acme', { cost: 2 })).allowed).toBe(false)
      expect((await limiter.consume('acme', { cost: 1 })).allowed).toBe(true)
    },
  )

  test('a client that never stops still gets its quota in every window (D15)', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: { quota: 2, window: 's', algorithm: 'fixed-window' } }, clock)
    let allowed = 0
    for (let i = 0; i < 50; i += 1) {
      if ((await limiter.consume('acme')).allowed) allowed += 1
      clock.now += 200
    }
    expect(allowed).toBe(20)
  })
})
