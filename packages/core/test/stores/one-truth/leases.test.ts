// Law 5 for leases: Redis and memory answer any schedule of calls alike, with units on lease.
import { isDeepStrictEqual } from 'node:util'
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Outcome } from '../../../src/stores/contract.js'
import { isOutcome } from '../../../src/stores/outcome-check.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { manySets } from '../../support/store-requests.js'
import { forAll } from '../../support/schedules.js'
import { variants, type Variant } from '../../support/variants.js'
import { leaseActs, leasedSets, playLeases, type LeaseAct } from './lease-schedules.js'

afterAll(closeBenches)

async function agree(sets: readonly LimitSet[], acts: readonly LeaseAct[]): Promise<readonly unknown[]> {
  const clocks = [{ now: START_MS }, { now: START_MS }] as const
  const memory = memoryStore({ now: () => clocks[0].now })
  const redis = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clocks[1].now })
  const [given, wanted] = [
    await playLeases(redis, clocks[1], sets, acts),
    await playLeases(memory, clocks[0], sets, acts),
  ]
  const at = given.findIndex((answer, i) => !isDeepStrictEqual(answer, wanted[i]))
  if (at >= 0) {
    const both = `${JSON.stringify(given[at])} and ${JSON.stringify(wanted[at])}`
    throw new Error(`they part at ${at}: ${both} of ${JSON.stringify(acts.slice(0, at + 1))}`)
  }
  return given
}

const forMany = <T>(given: fc.Arbitrary<T>, holds: (value: T) => Promise<unknown>): Promise<void> =>
  forAll(given, async (value) => void (await holds(value)), cases(25, 600))

test.each(variants)('one limit: $name', async (variant) => {
  const larger = [variant.limit(300, 1000)]
  const sets = leasedSets([variant.limit(20, 1000)], larger, manySets(variant, ...larger))
  await forMany(leaseActs, (acts) => agree(sets, acts))
})

test('several limits', async () => {
  const some = fc.array(fc.constantFrom(...variants), { minLength: 2, maxLength: 3 })
  await forMany(fc.tuple(some, leaseActs), ([chosen, acts]) => {
    const limits = chosen.map((variant, i) => variant.limit(20 + 7 * i, 1000 * (i + 1)))
    const larger = chosen.map((variant, i) => variant.limit(300, 1000 * (i + 1)))
    return agree(leasedSets(limits, larger, manySets(chosen[0] as Variant, ...larger.slice(1))), acts)
  })
})

test('the schedules lease units: many answers have some, and all are outcomes', async () => {
  const [variant] = variants
  if (!variant) throw new Error('no variants')
  const sets = leasedSets([variant.limit(20, 1000)], [variant.limit(300, 1000)], manySets(variant))
  const schedules = fc.sample(leaseActs, { numRuns: 100, seed: 7 })
  const said = await Promise.all(schedules.map((acts) => agree(sets, acts)))
  const outcomes = (said.flat(2) as (Outcome | boolean)[]).filter((answer) => typeof answer === 'object')
  const leases = outcomes.filter(({ lease }) => lease)
  expect(leases.filter(({ lease }) => (lease?.endsInUs ?? 0) > 0).length).toBeGreaterThan(leases.length / 10)
  expect(outcomes.filter(({ limits }) => limits.some(({ leased = 0 }) => leased > 0)).length).toBeGreaterThan(
    100,
  )
  const wish = { id: 'any', most: 30, least: 1, share: 1, lengthUs: 1_000_000, lagUs: 0 }
  const parts = [{ key: 'k', set: sets[0] as LimitSet, cost: 1 }]
  const wrong = leases
    .filter(({ limits }) => limits.length === 1)
    .filter((outcome) => !isOutcome(outcome, { parts, grant: 'lease', order: { reports: [], wish } }))
  expect(wrong).toEqual([])
})
