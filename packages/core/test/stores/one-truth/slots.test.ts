// Law 5 for requests in flight: Redis and memory answer any schedule of calls alike.
import { isDeepStrictEqual } from 'node:util'
import { testPrefix, cases } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Outcome } from '../../../src/stores/contract.js'
import { isOutcome } from '../../../src/stores/outcome-check.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { manySets, setOf } from '../../support/store-requests.js'
import { forAll } from '../../support/schedules.js'
import { variants, type Variant } from '../../support/variants.js'
import { playSlots, slotActs, type SlotAct } from './slot-schedules.js'

afterAll(closeBenches)

async function agree(sets: readonly LimitSet[], acts: readonly SlotAct[]): Promise<readonly unknown[]> {
  const clocks = [{ now: START_MS }, { now: START_MS }] as const
  const memory = memoryStore({ now: () => clocks[0].now })
  const redis = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clocks[1].now })
  const [given, wanted] = [
    await playSlots(redis, clocks[1], sets, acts),
    await playSlots(memory, clocks[0], sets, acts),
  ]
  const at = given.findIndex((answer, i) => !isDeepStrictEqual(answer, wanted[i]))
  if (at >= 0) {
    const [ours, theirs] = [given[at], wanted[at]] as unknown[][]
    const i = ours?.findIndex((answer, j) => !isDeepStrictEqual(answer, theirs?.[j])) ?? 0
    const both = `${JSON.stringify(ours?.[i])} and ${JSON.stringify(theirs?.[i])}`
    throw new Error(`they part at ${at}.${i}: ${both} of ${JSON.stringify(acts.slice(0, at + 1))}`)
  }
  return given
}

/** Requests in flight alone, beside a limit before and behind them, and without. Then many sets with them. */
function setsWith(variant: Variant): LimitSet[] {
  const limit = variant.limit(9, 1000)
  const own = [
    setOf(limit, '5 concurrent'),
    setOf('5 concurrent', limit),
    setOf('3 concurrent'),
    setOf(limit),
  ]
  return [...own, ...manySets(variant, '200 concurrent')]
}

const forMany = (sets: readonly LimitSet[]): Promise<void> =>
  forAll(slotActs, async (acts) => void (await agree(sets, acts)), cases(25, 250))

test.each(variants)('beside one limit: $name', (variant) => forMany(setsWith(variant)))

test('beside several limits', () => {
  const [log, , window, , , bucket] = variants.map((variant) => variant.limit(9, 1000))
  if (!log || !window || !bucket) throw new Error('there are fewer variants')
  const many = manySets(variants[0] as Variant, '200 concurrent')
  return forMany([
    setOf(log, bucket, '5 concurrent'),
    setOf(bucket, '5 concurrent', window),
    setOf('3 concurrent', log, window),
    setOf(window, log),
    ...many,
  ])
})

test('the schedules fill slots: many are denied, many are not, and all answers are outcomes', async () => {
  const sets = setsWith(variants[0] as Variant)
  const schedules = fc.sample(slotActs, { numRuns: 100, seed: 3 })
  const outcomes = (await Promise.all(schedules.map((acts) => agree(sets, acts)))).flat(2) as Outcome[]
  const ofSlots = outcomes.flatMap(({ limits }) => limits.filter(({ slot }) => slot !== undefined))
  expect(ofSlots.filter(({ wait }) => wait > 0).length).toBeGreaterThan(100)
  expect(ofSlots.filter(({ wait, remaining }) => wait === 0 && remaining > 0).length).toBeGreaterThan(100)
  for (const outcome of outcomes) expect(Number.isFinite(outcome.at)).toBe(true)
  expect(outcomes.every(({ limits }) => limits.every((limit) => isOutcomeLimit(limit)))).toBe(true)
})

function isOutcomeLimit(limit: Outcome['limits'][number]): boolean {
  const parts = [{ key: 'k', set: setOf('5/min'), cost: 1 }]
  return isOutcome({ at: 1, limits: [limit] }, { grant: 'all', parts })
}
