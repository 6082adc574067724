// Laws 3 and 4 beside units on lease: as many units pass as the answer says, and who waits as told is admitted.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { LimitOutcome, StoreRequest } from '../../../src/stores/contract.js'
import { variants } from '../../support/variants.js'
import { ask, one, part, setOf, storeAt } from './support.js'

const START_MS = 1_769_862_896_789

const act = fc.record({
  isLease: fc.boolean(),
  gapUs: fc.oneof(fc.constantFrom(0, 1), fc.integer({ min: 0, max: 300_000 })),
  units: fc.integer({ min: 1, max: 9 }),
  lengthUs: fc.constantFrom(15_625, 100_000, 500_000, 1_000_000),
  lagUs: fc.constantFrom(0, 0, 500_000),
})
const acts = fc.array(act, { minLength: 1, maxLength: 15 })

test.each(variants)('$name', (variant) => {
  let waited = 0
  const holds = (
    schedule: typeof acts extends fc.Arbitrary<infer T> ? T : never,
    quota: number,
    cost: number,
  ): void => {
    const { store, clock } = storeAt(START_MS)
    const set = setOf(variant.limit(quota, 1000))
    const advance = (us: number): void => {
      clock.now = (Math.round(clock.now * 1000) + us) / 1000
    }
    schedule.forEach(({ isLease, gapUs, units, lengthUs, lagUs }, i) => {
      advance(gapUs)
      const wish = {
        id: `lease-${String(i).padStart(6, '0')}`,
        most: units,
        least: 1,
        share: 1,
        lengthUs,
        lagUs,
      }
      const parts = [part('k', units, set)]
      const lease: StoreRequest = { shard: 0, grant: 'lease', parts, order: { reports: [], wish } }
      one(store, isLease ? lease : ask(...parts))
    })
    const asked = ask(part('k', cost, set))
    const seen = (): LimitOutcome => store.peek([asked])[0]?.limits[0] as LimitOutcome
    const { wait, remaining } = seen()
    expect(wait === 0).toBe(cost <= remaining)
    if (wait > 0) {
      waited += 1
      // A bucket rounds its level to a part where a lease ends, which can be a µs for each.
      advance(wait + (variant.algorithm === 'token-bucket' ? schedule.length : 0))
      expect(seen().wait).toBe(0)
    } else if (wait < 0) expect(one(store, ask(part('other', cost, set))).limits[0]?.wait).toBe(wait)
  }
  const quotas = fc.integer({ min: 3, max: 20 })
  fc.assert(fc.property(acts, quotas, fc.integer({ min: 1, max: 20 }), holds), { numRuns: cases(100, 500) })
  expect(waited).toBeGreaterThan(cases(5, 50))
})
