// Law 5: the Lua and the TypeScript form of each algorithm, and of what stands beside the limits, answer any schedule of calls
// alike. (The roads compare decisions of limiters.)
import { isDeepStrictEqual } from 'node:util'
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore, type LimitInput, type LimitOptions } from '../../src/index.js'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import type { Outcome, RefundRequest, Store, StoreRequest } from '../../src/stores/contract.js'
import { isOutcome } from '../../src/stores/outcome-check.js'
import { closeBenches, sharedRedis, START_MS } from '../support/benches.js'
import { forAll } from '../support/schedules.js'
import { manySets, needOutcome, requestOf, setOf, waiting } from '../support/store-requests.js'
import { variants, type Variant } from '../support/variants.js'
import { MIXES, turns, type Mix } from './one-truth-mixes.js'
import { setsOf, StorePlay, type Act, type Said } from './one-truth-play.js'

/** Schedules of which is looked what they met. */
const SAMPLES = cases(60, 150)

afterAll(closeBenches)

/** Beside a request with the grant `force`, the script decides all others in the general way, never quickly. */
function inGeneralWay(store: Store, set: LimitSet): Store {
  const forced: StoreRequest = {
    shard: 0,
    grant: 'force',
    parts: [{ key: 'another', set, cost: 1, used: set.limits.map(() => []) }],
  }
  return Object.assign(Object.create(store) as Store, {
    consume: async (batch: readonly StoreRequest[]) => (await store.consume([...batch, forced])).slice(0, -1),
    peek: (batch: readonly StoreRequest[]) => store.peek(batch),
    refund: (batch: readonly RefundRequest[]) => store.refund(batch),
    reset: (keys: readonly string[], shard: number) => store.reset(keys, shard),
  })
}

/** Plays on both. Returns what was said, if it is the same. */
async function agree(sets: readonly LimitSet[], acts: readonly Act[], isGeneral = false): Promise<Said[]> {
  const clocks = [{ now: START_MS }, { now: START_MS }] as const
  const redis = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clocks[0].now })
  const plays = [
    new StorePlay(isGeneral ? inGeneralWay(redis, sets[0] as LimitSet) : redis, clocks[0], sets),
    new StorePlay(memoryStore({ now: () => clocks[1].now }), clocks[1], sets),
  ] as const
  for (const play of plays) await play.run(acts)
  const [given, wanted] = plays.map(({ said }) => said) as [Said[], Said[]]
  const at = given.findIndex((one, i) => !isDeepStrictEqual(one, wanted[i]))
  if (at < 0 && given.length === wanted.length) return given.filter(({ request }) => request)
  const both = `${JSON.stringify(given[at])} and ${JSON.stringify(wanted[at])}`
  throw new Error(`they part at ${at}: ${both} of ${JSON.stringify(acts)}`)
}

function setsFor(
  mix: Mix,
  variant: Variant,
  limits: readonly LimitInput[],
  larger: readonly LimitInput[],
): LimitSet[] {
  const many = manySets(variant, ...mix.first(larger))
  return setsOf(limits, larger, { many, canWait: mix.name === 'holds' })
}

const bucket = (quota: number, burst: number): LimitOptions => ({ quota, burst, window: 1000 })

describe.each(MIXES)('$name', (mix) => {
  const forMany = <T>(sets: fc.Arbitrary<T>, make: (of: T) => LimitSet[]): Promise<void> =>
    forAll(
      fc.tuple(sets, mix.acts, fc.boolean()),
      async ([of, acts, isGeneral]) => void (await agree(make(of), acts, isGeneral)),
      cases(25, mix.name === 'counts' || mix.name === 'leases' ? 500 : 250),
    )

  test.each(variants)('one limit: $name', (variant) =>
    forMany(fc.constant(variant), () =>
      setsFor(mix, variant, [variant.limit(20, 1000)], [variant.limit(300, 1000)]),
    ),
  )

  test('several limits', () =>
    forMany(fc.array(fc.constantFrom(...variants), { minLength: 2, maxLength: 4 }), (chosen) => {
      const limits = chosen.map((variant, i) => variant.limit(20 + 7 * i, 1000 * (i + 1)))
      const larger = chosen.map((variant, i) => variant.limit(300, 1000 * (i + 1)))
      return setsFor(mix, chosen[0] as Variant, limits, larger)
    }))

  test('several buckets of one window, beside others in each plan', () => {
    const [slow, fast] = [bucket(8, 30), bucket(25, 20)]
    const larger = [bucket(5, 60), slow, bucket(8, 40), fast]
    const sets = setsFor(mix, variants.at(-1) as Variant, [slow, fast], larger)
    return forMany(fc.constant(sets), () => sets)
  })

  test('the schedules meet what they are about, and all answers are outcomes', async () => {
    const variant = variants.find(({ name }) => name === 'token-bucket') as Variant
    const sets = setsFor(mix, variant, [variant.limit(20, 1000)], [variant.limit(300, 1000)])
    const schedules = fc.sample(mix.acts, { numRuns: SAMPLES, seed: 7 })
    const said = (await Promise.all(schedules.map((acts) => agree(sets, acts)))).flat()
    expect(said.filter((one) => !isRight(one, mix))).toEqual([])
    const few = Object.entries(metBy(said)[mix.name]).filter(([, count]) => count <= SAMPLES)
    expect(few).toEqual([])
  })
})

test.each(variants)('rows of requests in flight in any order: $name', (variant) => {
  const sets = [setOf(variant.limit(1000, 500), '1000 concurrent')]
  return forAll(turns, async (acts) => void (await agree(sets, acts)), cases(25, 100))
})

/** A message whose id comes again with other terms answers with its own; among holds those of a hold, which can last longer. */
function isRight({ request, answer }: Said, mix: Mix): boolean {
  const { order, hold, id } = request
  if (id !== undefined) return true
  const wish = {
    id: 'any',
    most: 30,
    least: 1,
    share: 1,
    lengthUs: mix.name === 'holds' ? 6_000_000 : 1_000_000,
    lagUs: 0,
  }
  return isOutcome(answer, {
    ...request,
    order: order && { ...order, wish: order.wish && wish },
    hold: hold && { ...hold, kind: 'place', lengthUs: 6_000_000, slackUs: 6_000_000 },
  } as StoreRequest)
}

/** How many answers there were of each kind, by mix. */
function metBy(all: readonly Said[]): Record<Mix['name'], Record<string, number>> {
  const said = all as readonly { readonly request: StoreRequest; readonly answer: Outcome }[]
  const limits = said.flatMap(({ answer }) => answer.limits)
  const slots = limits.filter(({ slot }) => slot !== undefined)
  const held = said.filter(({ answer }) => (answer.hold?.endsInUs ?? 0) > 0)
  const later = held.filter(({ answer }) => (answer.hold?.delayUs ?? 0) > 0)
  return {
    counts: {
      denied: limits.filter(({ wait }) => wait > 0).length,
      granted: limits.filter(({ granted = 0 }) => granted > 0).length,
    },
    leases: {
      granted: said.filter(({ answer }) => (answer.lease?.endsInUs ?? 0) > 0).length,
      beside: limits.filter(({ leased = 0 }) => leased > 0).length,
    },
    holds: {
      later: later.length,
      atOnce: held.length - later.length,
      denied: said.filter(({ request, answer }) => request.hold && !answer.hold).length,
    },
    blocks: {
      begun: limits.filter(({ block }) => block?.isNew).length,
      longer: limits.filter(({ block }) => (block?.level ?? 0) > 1).length,
      repeated: limits.filter(({ block }) => block && !block.isNew).length,
      lifted: said.filter(({ answer }) => answer.wasBlocked).length,
    },
    'requests in flight': {
      full: slots.filter(({ wait }) => wait > 0).length,
      free: slots.filter(({ wait, remaining }) => wait === 0 && remaining > 0).length,
    },
  }
}

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

test('a denial that is written because one of its limits is ahead of the clock', async () => {
  const some = variants.filter(({ name }) => ['sliding-log', 'token-bucket with a burst of 3'].includes(name))
  const limits = some.map((variant, i) => variant.limit(20 + 7 * i, 1000 * (i + 1)))
  const sets = [setOf(...limits), setOf((some[0] as Variant).limit(20, 1500), ...limits.slice(-1))]
  const consume = (set: number, gapUs: number, cost: number): Act => {
    return { gapUs, isPeek: false, batch: [{ grant: 'all', asked: [{ key: 'k', set, cost }] }] }
  }
  const acts = [
    consume(1, 0, 1),
    consume(0, -2_000_000, 1),
    consume(1, 74, 2),
    consume(0, 1, 1),
    consume(0, 0, 1),
  ]
  expect(await agree(sets, acts)).toHaveLength(acts.length)
})

test('a denial that is written, since the clock went back, tells the wait from what was written', async () => {
  const clock = { now: START_MS }
  const now = (): number => clock.now
  const bucket = (burst: number): LimitInput => ({ quota: burst, window: '10s', algorithm: 'token-bucket' })
  const sets = [setOf(bucket(300)), setOf('9/min'), setOf(bucket(20), '9/min')]
  for (const store of [memoryStore({ now }), redisStore(sharedRedis(), { prefix: testPrefix(), now })]) {
    const consume = async (set: number, cost: number, count: number): Promise<unknown[]> => {
      const request = {
        shard: 0,
        grant: 'all',
        parts: [{ key: 'k', set: sets[set] as LimitSet, cost }],
      } as const
      return [...(await store.consume(Array.from({ length: count }, () => request)))]
    }
    clock.now = START_MS
    await consume(0, 200, 1)
    clock.now += 8000
    await consume(1, 1, 1)
    clock.now -= 6000
    const [first] = await consume(2, 1, 1)
    const [second] = await consume(2, 1, 1)
    expect(first).toMatchObject({ limits: [{ remaining: 0 }, { remaining: 8 }] })
    expect(second).toEqual(first)
  }
})
