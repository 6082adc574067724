// Law 5 for holds: Redis and memory answer any schedule of calls alike, with reservations and places among it.
import { isDeepStrictEqual } from 'node:util'
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore, type LimitOptions } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Outcome, StoreRequest } from '../../../src/stores/contract.js'
import { isOutcome } from '../../../src/stores/outcome-check.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { manySets, needOutcome, requestOf, setOf, waiting } from '../../support/store-requests.js'
import { forAll } from '../../support/schedules.js'
import { variants, type Variant } from '../../support/variants.js'
import { heldSets, holdActs, playHolds, type HoldAct } from './hold-schedules.js'

/** Schedules of which is looked what they met. */
const SAMPLES = cases(60, 150)

afterAll(closeBenches)

async function agree(
  sets: readonly LimitSet[],
  acts: readonly HoldAct[],
): Promise<{ requests: readonly StoreRequest[]; said: readonly unknown[] }> {
  const clocks = [{ now: START_MS }, { now: START_MS }] as const
  const memory = memoryStore({ now: () => clocks[0].now })
  const redis = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clocks[1].now })
  const [given, wanted] = [
    await playHolds(redis, clocks[1], sets, acts),
    await playHolds(memory, clocks[0], sets, acts),
  ]
  const at = given.said.findIndex((answer, i) => !isDeepStrictEqual(answer, wanted.said[i]))
  if (at >= 0) {
    const both = `${JSON.stringify(given.said[at])} and ${JSON.stringify(wanted.said[at])}`
    throw new Error(`they part at ${at}: ${both} of ${JSON.stringify(given.requests.slice(0, at + 1))}`)
  }
  return given
}

const forMany = <T>(given: fc.Arbitrary<T>, holds: (value: T) => Promise<unknown>): Promise<void> =>
  forAll(given, async (value) => void (await holds(value)), cases(25, 200))

test.each(variants)('one limit: $name', async (variant) => {
  const larger = [variant.limit(300, 1000)]
  const sets = heldSets([variant.limit(20, 1000)], larger, manySets(variant, ...larger))
  await forMany(holdActs, (acts) => agree(sets, acts))
})

test('several limits', async () => {
  const some = fc.array(fc.constantFrom(...variants), { minLength: 2, maxLength: 3 })
  await forMany(fc.tuple(some, holdActs), ([chosen, acts]) => {
    const limits = chosen.map((variant, i) => variant.limit(20 + 7 * i, 1000 * (i + 1)))
    const larger = chosen.map((variant, i) => variant.limit(300, 1000 * (i + 1)))
    return agree(heldSets(limits, larger, manySets(chosen[0] as Variant, ...larger.slice(1))), acts)
  })
})

test('several buckets of one window', async () => {
  const bucket = (quota: number, burst: number): LimitOptions => ({ quota, burst, window: 1000 })
  const [slow, fast] = [bucket(8, 30), bucket(25, 20)]
  const many = manySets(variants.at(-1) as Variant, fast, bucket(4, 40))
  await forMany(holdActs, (acts) => agree(heldSets([fast, slow], [slow, bucket(90, 300)], many), acts))
})

test('a place that a request of the same call has got is one that the next can go before', async () => {
  const set = waiting(setOf({ quota: 20, window: 1000 }))
  const request = (cost: number, n: number): StoreRequest => ({
    ...requestOf('k', set, cost),
    hold: { kind: 'place', id: `hold-000000${n}`, lengthUs: 2_000_000, slackUs: 20_000, most: 100 },
  })
  for (const store of [
    memoryStore({ now: () => START_MS }),
    redisStore(sharedRedis(), { now: () => START_MS, prefix: testPrefix() }),
  ]) {
    await store.consume([requestOf('k', set, 18)])
    const answers = await store.consume([4, 8, 1].map(request))
    const delays = answers.map((answer) => needOutcome(answer).hold?.delayUs)
    expect(delays).toEqual([1_000_000, 1_000_000, 0])
  }
})

test('the schedules hold units: places in line, reservations, and all answers are outcomes', async () => {
  const bucket = variants.find(({ name }) => name === 'token-bucket') as Variant
  const sets = heldSets([bucket.limit(20, 1000)], [bucket.limit(300, 1000)], manySets(bucket))
  const schedules = fc.sample(holdActs, { numRuns: SAMPLES, seed: 7 })
  const plays = await Promise.all(schedules.map((acts) => agree(sets, acts)))
  const all = plays.flatMap(({ requests, said }) =>
    said.map((answer, i) => ({ request: requests[i] as StoreRequest, answer: answer as Outcome })),
  )
  const held = all.filter(({ answer }) => (answer.hold?.endsInUs ?? 0) > 0)
  const later = held.filter(({ answer }) => (answer.hold?.delayUs ?? 0) > 0)
  expect(later.length).toBeGreaterThan(SAMPLES)
  expect(held.length - later.length).toBeGreaterThan(SAMPLES / 3)
  expect(all.filter(({ request, answer }) => request.hold && !answer.hold).length).toBeGreaterThan(
    SAMPLES / 2,
  )
  // A hold whose id comes again with other terms answers with its own.
  const lasting = (hold: StoreRequest['hold']): StoreRequest['hold'] =>
    hold && { ...hold, kind: 'place', lengthUs: 6_000_000, slackUs: 6_000_000 }
  const wrong = all.filter(
    ({ request, answer }) => !isOutcome(answer, { ...request, hold: lasting(request.hold) }),
  )
  expect(wrong.filter(({ request }) => request.grant === 'all')).toEqual([])
})
