import fc from 'fast-check'
import { benches, closeBenches, START_MS } from '../support/benches.js'
import { play, forAll, schedule } from '../support/schedules.js'
import { variants, windowOf } from '../support/variants.js'

afterAll(closeBenches)

describe.each(benches)('law 3, truthful remaining, on $store', (bench) => {
  test.each(variants)(
    '$name: as many more requests pass as remaining says, and the next is denied',
    async (variant) => {
      const windowMs = windowOf(variant, 1000)
      const cases = fc
        .integer({ min: 1, max: 8 })
        .chain((quota) => fc.record({ quota: fc.constant(quota), steps: schedule(quota, windowMs) }))
      await forAll(cases, async ({ quota, steps }) => {
        const clock = { now: START_MS }
        const limiter = bench.limiter({ limit: variant.limit(quota, windowMs) }, clock)
        const { decisions } = await play(limiter, clock, steps)
        const told = decisions.at(-1)?.limits[0]?.remaining ?? -1
        const next = await Promise.all(Array.from({ length: told + 1 }, () => limiter.consume('acme')))
        expect(next.map(({ allowed }) => allowed)).toEqual([...new Array<boolean>(told).fill(true), false])
      })
    },
  )

  test('with several limits as many requests pass as the smallest remaining says', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: ['10/s', '7/min', '50/h burst 20'] }, clock)
    const { limits } = await limiter.consume('acme', { cost: 2 })
    expect(limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['second', 8],
      ['minute', 5],
      ['hour', 18],
    ])
    const next = await Promise.all(Array.from({ length: 6 }, () => limiter.consume('acme')))
    expect(next.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false])
  })
})
