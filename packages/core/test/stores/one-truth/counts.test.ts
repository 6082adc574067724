// Law 5 for stores: Redis and memory answer any schedule of calls alike.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { EARLIEST, type Receipt, type Usage } from '../../../src/algorithms/implementation.js'
import { memoryStore, redisStore, type LimitInput, type LimitOptions } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Answer, RefundRequest, Store, StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'
import { advance, forAll } from '../../support/schedules.js'
import { MANY_SETS, manySets, receiptsOf, setOf } from '../../support/store-requests.js'
import { variants, type Variant } from '../../support/variants.js'

afterAll(closeBenches)

const gapUs = fc.oneof(
  fc.constantFrom(0, 1, 999_999, 1_000_000, 1_000_001, -1, -250_000, -2_000_000),
  fc.integer({ min: 0, max: 400_000 }),
  fc.integer({ min: 0, max: 5_000_000 }),
)
const used = fc.record({
  units: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(300, 70_000, 2 ** 39)),
  ageUs: fc.oneof(fc.constantFrom(0, 1, 999_999, 1_000_000), fc.integer({ min: 0, max: 4_000_000 })),
})
const usage = fc.array(used, { maxLength: 6 }).map((list) => list.sort((a, b) => b.ageUs - a.ageUs))
const id = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined })
/** Few of the many are asked again, when their states have been merged. */
const set = fc.oneof(
  { weight: 5, arbitrary: fc.nat({ max: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(4, 5, 30) },
)
const parts = fc.uniqueArray(
  fc.record({
    key: fc.constantFrom('k', 'l', 'm'),
    set,
    cost: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 1, maxLength: 3, selector: ({ key }) => key },
)
const request = fc.record({
  parts,
  grant: fc.constantFrom('all', 'all', 'upTo', 'force'),
  usages: fc.array(usage, { minLength: 4, maxLength: 4 }),
  id,
})
/** Many requests for few keys, so that a batch asks the same of a key several times. */
const plain = fc.record({
  parts: fc.tuple(
    fc.record({
      key: fc.constantFrom('k', 'l', 'm'),
      set: fc.constantFrom(0, 0, 0, 1),
      cost: fc.constantFrom(1, 1, 3),
    }),
  ),
  grant: fc.constant('all'),
  usages: fc.constant<Usage[][]>([]),
  id: fc.constant(undefined),
})
/** The same asked of few keys, several times: a batch that consume-run.lua decides if the set has one limit. */
const run = fc
  .record({
    keys: fc.array(fc.constantFrom('k', 'l', 'm'), { minLength: 1, maxLength: 16 }),
    set: fc.constantFrom(0, 0, 2),
    cost: fc.constantFrom(1, 1, 2, 5, 30),
  })
  .map(({ keys, set, cost }): Made[] =>
    keys.map((key) => ({ parts: [{ key, set, cost }], grant: 'all', usages: [], id: undefined })),
  )
/** A subject that moves among many plans: through all of them, or some. */
const wander = fc
  .record({
    key: fc.constantFrom('k', 'k', 'l'),
    from: fc.constantFrom(4, 4, 5, 40),
    count: fc.constantFrom(3, MANY_SETS, MANY_SETS),
    cost: fc.constantFrom(1, 1, 2, 4, 20),
  })
  .map(({ key, from, count, cost }): Made[] =>
    Array.from({ length: count }, (_, i) => {
      const moved = 4 + ((from - 4 + i) % MANY_SETS)
      return { parts: [{ key, set: moved, cost }], grant: 'all', usages: [], id: undefined }
    }),
  )
const act = fc.oneof(
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('consume'), gapUs, batch: wander }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('consume'), gapUs, batch: run }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('consume'),
      gapUs,
      batch: fc.array(plain, { minLength: 1, maxLength: 16 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('consume'),
      gapUs,
      batch: fc.array(request, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('peek'), gapUs, batch: fc.tuple(request) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('refund'),
      gapUs,
      backs: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 2 }),
      units: fc.integer({ min: 0, max: 20 }),
      isByKey: fc.boolean(),
      id,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('reset'), gapUs, keys: fc.subarray(['k', 'l', 'm']) }),
  },
)
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never
type Made = typeof request | typeof plain extends fc.Arbitrary<infer T> ? T : never

/** Limit sets that share some limits, have others with a different quota, and many with windows of their own. */
function setsOf(
  limits: readonly LimitInput[],
  larger: readonly LimitInput[],
  many: readonly LimitSet[],
): LimitSet[] {
  return [
    setOf(...limits),
    setOf(...[...limits].reverse()),
    setOf(...larger),
    setOf(...limits.slice(0, 1), '9/7s'),
    ...many,
  ]
}

function requestOf({ parts: asked, grant, usages, id: own }: Made, sets: readonly LimitSet[]): StoreRequest {
  const isForce = grant === 'force'
  return {
    shard: 0,
    grant: grant as StoreRequest['grant'],
    ...(isForce && own !== undefined && { id: own }),
    parts: asked.map(({ key, set, cost }) => ({
      key,
      set: sets[set] as LimitSet,
      cost,
      ...(isForce && { used: (sets[set] as LimitSet).limits.map((_, i) => usages[i] as Usage[]) }),
    })),
  }
}

interface Taken {
  readonly key: string
  readonly set: LimitSet
  readonly receipts: readonly Receipt[]
}

function takenBy({ parts: asked, grant }: StoreRequest, answer: Answer | undefined): Taken[] {
  if (!answer || !('limits' in answer) || grant === 'force') return []
  if (grant === 'all' && answer.limits.some(({ wait }) => wait !== 0)) return []
  const receipts = receiptsOf(answer, 0)
  let next = 0
  return asked.map(({ key, set, cost }) => {
    const own = receipts.slice(next, (next += set.limits.length))
    return {
      key,
      set,
      receipts: own.map((receipt) => ({ ...receipt, units: answer.limits[0]?.granted ?? cost })),
    }
  })
}

async function replay(
  store: Store,
  clock: Clock,
  sets: readonly LimitSet[],
  acts: readonly Act[],
): Promise<unknown[]> {
  const taken: Taken[] = []
  const said: unknown[] = []
  for (const next of acts) {
    advance(clock, next.gapUs)
    if ('keys' in next) {
      // Not what it answers: Redis keeps keys of a test's clock until their real time is over.
      await store.reset(next.keys, 0)
    } else if ('backs' in next) {
      const refunds = next.backs.flatMap((back) => taken.at(-1 - back) ?? [])
      const request = {
        shard: 0,
        ...(next.id !== undefined && { id: `r${next.id}` }),
        parts: refunds.map((part) => ({
          ...part,
          receipts: part.receipts.map((receipt) => ({
            ...receipt,
            units: next.isByKey ? next.units : Math.min(receipt.units, next.units),
            ...(next.isByKey && { at: EARLIEST }),
          })),
        })),
      }
      said.push(await store.refund([request, request]))
    } else {
      const isPeek = next.kind === 'peek'
      const batch = next.batch.map((made) => requestOf(isPeek ? { ...made, grant: 'all' } : made, sets))
      const answers = await store[isPeek ? 'peek' : 'consume'](batch)
      said.push(answers)
      if (!isPeek) taken.push(...batch.flatMap((asked, i) => takenBy(asked, answers[i])))
    }
  }
  return said
}

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

async function agree(sets: readonly LimitSet[], acts: readonly Act[], isGeneral: boolean): Promise<void> {
  const clocks = [{ now: START_MS }, { now: START_MS }] as const
  const memory = memoryStore({ now: () => clocks[0].now })
  const redis = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clocks[1].now })
  const [given, wanted] = [
    await replay(isGeneral ? inGeneralWay(redis, sets[0] as LimitSet) : redis, clocks[1], sets, acts),
    await replay(memory, clocks[0], sets, acts),
  ]
  const at = given.findIndex((answer, i) => JSON.stringify(answer) !== JSON.stringify(wanted[i]))
  if (at >= 0) throw new Error(`they part at ${at} of: ${JSON.stringify(acts.slice(0, at + 1))}`)
}

const schedule = fc.array(act, { minLength: 1, maxLength: 25 })

const forMany = <T>(given: fc.Arbitrary<T>, holds: (value: T) => Promise<void>): Promise<void> =>
  forAll(given, holds, cases(25, 500))

test.each(variants)('one limit: $name', async (variant) => {
  await forMany(fc.tuple(schedule, fc.boolean()), ([acts, isGeneral]) =>
    agree(setsOf([variant.limit(20, 1000)], [variant.limit(300, 1000)], manySets(variant)), acts, isGeneral),
  )
})

test('several limits', async () => {
  const some = fc.array(fc.constantFrom(...variants), { minLength: 2, maxLength: 4 })
  await forMany(fc.tuple(some, schedule, fc.boolean()), async ([chosen, acts, isGeneral]) => {
    const limits = chosen.map((variant, i) => variant.limit(20 + 7 * i, 1000 * (i + 1)))
    const larger = chosen.map((variant, i) => variant.limit(300, 1000 * (i + 1)))
    const many = manySets(chosen[0] as Variant, ...larger.slice(1))
    await agree(setsOf(limits, larger, many), acts, isGeneral)
  })
})

test('several buckets of one window, beside others in each plan', async () => {
  const bucket = (quota: number, burst: number): LimitOptions => ({ quota, burst, window: 1000 })
  const [slow, fast, other] = [bucket(8, 30), bucket(25, 20), bucket(12, 25)]
  const sets = [
    setOf(slow, fast),
    setOf(fast, '9/2s', slow),
    setOf(slow),
    setOf(bucket(5, 60), slow, bucket(8, 40), fast),
    ...manySets(variants.at(-1) as Variant, other, fast),
  ]
  await forMany(fc.tuple(schedule, fc.boolean()), ([acts, isGeneral]) => agree(sets, acts, isGeneral))
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
