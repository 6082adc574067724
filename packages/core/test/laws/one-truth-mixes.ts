// Random schedules of everything that stores decide, each with more of something.
import fc from 'fast-check'
import type { LimitInput } from '../../src/index.js'
import type { Grant, Hold } from '../../src/stores/contract.js'
import { MANY_SETS } from '../support/store-requests.js'
import { OWN_SETS, type Act, type Drawn } from './one-truth-play.js'

const KEYS = ['k', 'l', 'm']
const busyKey = fc.constantFrom('k', 'k', 'k', 'l')
const back = [-1, -250_000, -2_000_000]
const upTo = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most })

/** Mostly one of these sets, seldom one of the many: few of those are asked again, when their states have been merged. */
const setOf = (...own: readonly number[]): fc.Arbitrary<number> =>
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...own) },
    { weight: 1, arbitrary: fc.constantFrom(OWN_SETS, OWN_SETS + 1, OWN_SETS + 26) },
  )

const used = fc.record({
  units: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(300, 70_000, 2 ** 39)),
  ageUs: fc.oneof(fc.constantFrom(0, 1, 999_999, 1_000_000), fc.integer({ min: 0, max: 4_000_000 })),
})
const usages = fc.array(
  fc.array(used, { maxLength: 6 }).map((list) => list.sort((a, b) => b.ageUs - a.ageUs)),
  { minLength: 5, maxLength: 5 },
)

/** Asks several keys for units. */
function counted(set: fc.Arbitrary<number>): fc.Arbitrary<Drawn> {
  const cost = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 25 }))
  const asked = fc.uniqueArray(fc.record({ key: fc.constantFrom(...KEYS), set, cost }), {
    ...{ minLength: 1, maxLength: 3, selector: ({ key }: { key: string }) => key },
  })
  const grant = fc.constantFrom<Grant>('all', 'all', 'upTo', 'force')
  const id = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined })
  return fc.record({ asked, grant, usages, id })
}

/** Many requests for few keys, so that a batch asks the same of a key several times. */
const plain: fc.Arbitrary<readonly Drawn[]> = fc.array(
  fc.record({
    grant: fc.constant<Grant>('all'),
    asked: fc.tuple(
      fc.record({
        key: fc.constantFrom(...KEYS),
        set: fc.constantFrom(0, 0, 0, 1),
        cost: fc.constantFrom(1, 1, 3),
      }),
    ),
  }),
  { minLength: 1, maxLength: 16 },
)

/** The same asked of few keys, several times: a batch that consume-run.lua decides if the set has one limit. */
const run: fc.Arbitrary<readonly Drawn[]> = fc
  .record({
    keys: fc.array(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 16 }),
    set: fc.constantFrom(0, 0, 2),
    cost: fc.constantFrom(1, 1, 2, 5, 30),
  })
  .map(({ keys, set, cost }) => keys.map((key) => ({ asked: [{ key, set, cost }], grant: 'all' })))

/** A subject that moves among many plans: through all of them, or some. */
function wander(one: fc.Arbitrary<Drawn>): fc.Arbitrary<readonly Drawn[]> {
  return fc
    .record({ one, from: fc.constantFrom(0, 0, 2, 36), count: fc.constantFrom(3, MANY_SETS, MANY_SETS) })
    .map(({ one: drawn, from, count }) =>
      Array.from({ length: count }, (_, i) => {
        const { key, cost } = drawn.asked[0] as Drawn['asked'][number]
        const asked = [{ key, set: OWN_SETS + ((from + i) % MANY_SETS), cost: Math.min(cost, 4) }]
        return { ...drawn, grant: 'all', asked, order: undefined, hold: undefined }
      }),
    )
}

interface Leasing {
  readonly set: fc.Arbitrary<number>
  /** Few ids, so that wishes and reports of one lease come again, late and in another order. */
  readonly id: fc.Arbitrary<string>
  readonly most: number
}

function leased({ set, id, most }: Leasing): fc.Arbitrary<Drawn> {
  const report = fc.record({
    id,
    used: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 12 })),
    left: fc.constantFrom(0, 0, 1, 2, 5, 12),
  })
  const wish = fc.record({
    id,
    most: fc.integer({ min: 1, max: most }),
    least: fc.constantFrom(1, 1, 3),
    share: fc.constantFrom(0.25, 0.5, 0.1, 1),
    lengthUs: fc.constantFrom(15_625, 100_000, 500_000, 1_000_000, 1000),
    lagUs: fc.constantFrom(0, 0, 0, 500_000, 1_000_000),
  })
  const order = fc.record({
    reports: fc.array(report, { maxLength: 3 }),
    wish: fc.option(wish, { nil: undefined, freq: 3 }),
  })
  return fc.record({ key: busyKey, set, order }).map(({ key, set: index, order: made }) => ({
    grant: 'lease',
    order: made,
    asked: [{ key, set: index, cost: made.wish?.most ?? 1 }],
  }))
}

const holdId = fc.integer({ min: 1, max: 60 }).map((n) => `hold-${String(n).padStart(7, '0')}`)
const hold = fc.record({
  kind: fc.constantFrom<Hold['kind'][]>('place', 'place', 'place', 'place', 'place', 'reservation'),
  id: holdId,
  lengthUs: fc.constantFrom(50_000, 333_333, 1_000_000, 2_000_000, 5_000_000, 1),
  slackUs: fc.constantFrom(20_000, 20_000, 50_000, 100_000),
  most: fc.constantFrom(1, 3, 100, 100, 100),
})
const heldSet = setOf(0, 0, 0, 0, 0, 1, 2, 3, 4)
const held = fc
  .record({
    key: busyKey,
    set: heldSet,
    cost: fc.oneof(fc.constantFrom(1, 1, 2, 20), fc.integer({ min: 1, max: 12 })),
    hold,
    isJoint: fc.boolean(),
  })
  .map(({ key, set, cost, hold: made, isJoint }): Drawn => {
    const other = { key: 'm', set: (set + 1) % OWN_SETS, cost }
    return { grant: 'all', hold: made, asked: [{ key, set, cost }, ...(isJoint ? [other] : [])] }
  })

/** Requests of one subject at once that all may wait: each sees the places of those before. */
const burst = fc
  .record({ key: busyKey, set: heldSet, all: fc.array(held, { minLength: 3, maxLength: 6 }) })
  .map(({ key, set, all }): readonly Drawn[] =>
    all.map((one) => ({ ...one, asked: one.asked.slice(0, 1).map(({ cost }) => ({ key, set, cost })) })),
  )

const flying = fc
  .record({
    grant: fc.constantFrom<Grant>(
      'all',
      'all',
      'all',
      'all',
      'declare',
      'release',
      'release',
      'upTo',
      'force',
    ),
    key: busyKey,
    set: setOf(4, 4, 4, 5, 6, 0),
    cost: fc.constantFrom(1, 1, 1, 2, 7),
    /** None tells of no slots. */
    name: fc.constantFrom('proc-A', 'proc-A', 'proc-B', 'proc_C', 'roc-Bp', undefined),
    held: fc.nat({ max: 4 }),
    behind: fc.constantFrom(0, 0, 0, 1, 2, -3),
    times: fc.constantFrom(1, 1, 1, 2, 4),
    isJoint: fc.constantFrom(false, false, false, true),
  })
  .map(({ grant, key, set, cost, name, held: count, behind, times, isJoint }) => {
    const isTelling = grant === 'declare' || grant === 'release'
    const keys = isJoint && !isTelling ? [key, 'm'] : [key]
    const holder = name === undefined ? undefined : { id: name, held: count, behind }
    return { times, drawn: { grant, asked: keys.map((one) => ({ key: one, set, cost })), holder } }
  })
const flights: fc.Arbitrary<readonly Drawn[]> = fc
  .array(flying, { minLength: 1, maxLength: 4 })
  .map((all) => all.flatMap(({ times, drawn }) => Array.from({ length: times }, () => drawn)))

/** Requests and releases of one holder, of few keys: a batch that consume-slots.lua decides if the set has one limit. */
const slotsRun = (set: number): fc.Arbitrary<readonly Drawn[]> =>
  fc
    .record({
      name: fc.constantFrom('proc-A', 'proc-A', 'proc-B', 'proc_C', 'roc-Bp'),
      cost: fc.constantFrom(1, 1, 1, 7),
      asked: fc.uniqueArray(
        fc.record({
          key: fc.constantFrom(...KEYS),
          grant: fc.constantFrom<Grant>('all', 'all', 'release'),
          held: fc.nat({ max: 1 }),
          behind: fc.constantFrom(0, 0, 0, 1, 2, -3),
          times: fc.constantFrom(1, 1, 2, 4),
        }),
        { minLength: 1, maxLength: 3, selector: ({ key }) => key },
      ),
    })
    .map(({ name, cost, asked }) =>
      asked.flatMap(({ key, grant, held: count, behind, times }) => {
        const drawn = { grant, asked: [{ key, set, cost }], holder: { id: name, held: count, behind } }
        return Array.from({ length: grant === 'all' ? times : 1 }, () => drawn)
      }),
    )

/** Processes that take turns, so that their rows stand in any order. */
export const turns: fc.Arbitrary<Act[]> = fc.array(
  fc.record({ gapUs: upTo(50_000), batch: slotsRun(0), isPeek: fc.constant(false) }),
  { minLength: 20, maxLength: 30, size: 'max' },
)

const refund = fc.record({
  backs: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 2 }),
  units: fc.integer({ min: 0, max: 20 }),
  isByKey: fc.boolean(),
  id: fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined }),
})

/** Schedules with batches by weight, and refunds, resets and looks among them. Lines get long only in long schedules. */
function actsOf(
  { gapUs, size = 'small' }: { gapUs: fc.Arbitrary<number>; size?: 'small' | 'max' },
  ...batches: readonly (readonly [weight: number, batch: fc.Arbitrary<readonly Drawn[]>])[]
): fc.Arbitrary<Act[]> {
  const batch = fc.oneof(...batches.map(([weight, arbitrary]) => ({ weight, arbitrary })))
  const isPeek = fc.integer({ min: 0, max: 9 }).map((n) => n === 0)
  const act = fc.oneof(
    { weight: 14, arbitrary: fc.record({ gapUs, batch, isPeek }) },
    { weight: 2, arbitrary: fc.tuple(gapUs, refund).map(([us, one]) => ({ gapUs: us, ...one })) },
    { weight: 1, arbitrary: fc.record({ gapUs, reset: fc.subarray(KEYS) }) },
  )
  return fc.array<Act>(act, { minLength: 1, maxLength: 30, size })
}

const some = (of: fc.Arbitrary<Drawn>): fc.Arbitrary<readonly Drawn[]> =>
  fc.array(of, { minLength: 1, maxLength: 4 })
const weighted = (...all: readonly (readonly [number, fc.Arbitrary<Drawn>])[]): fc.Arbitrary<Drawn> =>
  fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })))

export interface Mix {
  readonly name: 'counts' | 'leases' | 'holds' | 'requests in flight'
  readonly acts: fc.Arbitrary<Act[]>
  /** Limits that all of the many sets have, too. */
  first(larger: readonly LimitInput[]): readonly LimitInput[]
}

const leaseIds = fc.constantFrom('lease-000001', 'lease-000002', 'lease_000003', 'lease-lease-')
const countedSet = setOf(0, 1, 2, 3)
const leasedSet = setOf(0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3)
const edges = [0, 1, 999_999, 1_000_000, 1_000_001]

export const MIXES: readonly Mix[] = [
  {
    name: 'counts',
    acts: actsOf(
      { gapUs: fc.oneof(fc.constantFrom(...edges, ...back), upTo(400_000), upTo(5_000_000)) },
      [1, wander(counted(countedSet))],
      [4, run],
      [4, plain],
      [5, some(counted(countedSet))],
    ),
    first: (larger) => larger.slice(1),
  },
  {
    name: 'leases',
    acts: actsOf(
      {
        gapUs: fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 999, 100_000, 1_000_001, ...back) },
          { weight: 4, arbitrary: upTo(300_000) },
          { weight: 1, arbitrary: upTo(5_000_000) },
        ),
      },
      [1, wander(counted(leasedSet))],
      [10, some(weighted([3, leased({ set: leasedSet, id: leaseIds, most: 30 })], [2, counted(leasedSet)]))],
    ),
    first: (larger) => larger.slice(-1),
  },
  {
    name: 'holds',
    acts: actsOf(
      {
        gapUs: fc.oneof(
          { weight: 4, arbitrary: fc.constantFrom(0, 0, 0, 0, 1, 999, 100_000, 1_000_001, ...back) },
          { weight: 5, arbitrary: upTo(100_000) },
          { weight: 1, arbitrary: upTo(5_000_000) },
        ),
        size: 'max',
      },
      [1, wander(held)],
      [
        30,
        some(weighted([4, held], [2, counted(heldSet)], [2, leased({ set: heldSet, id: holdId, most: 10 })])),
      ],
      [10, burst],
    ),
    first: (larger) => larger.slice(-1),
  },
  {
    name: 'requests in flight',
    acts: actsOf(
      {
        gapUs: fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 999, 1_000_001, ...back) },
          { weight: 4, arbitrary: upTo(300_000) },
          { weight: 1, arbitrary: fc.constantFrom(5_000_000, 13_999_999, 14_000_000, 20_000_000) },
        ),
      },
      [1, wander(flying.map(({ drawn }) => drawn))],
      [15, flights],
      [15, slotsRun(4)],
    ),
    first: () => ['200 concurrent'],
  },
]
