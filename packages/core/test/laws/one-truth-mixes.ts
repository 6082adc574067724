// Random schedules of everything that stores decide, each with more of something.
import fc from 'fast-check'
import type { LimitInput } from '../../src/index.js'
import {
  KEYS,
  back,
  upTo,
  setOf,
  counted,
  plainOf,
  plain,
  runOf,
  run,
  blocking,
  lifted,
  wander,
  leased,
  holdId,
  heldSet,
  held,
  burst,
  flying,
  flights,
  slotsRun,
} from './one-truth-draws.js'
import { BLOCKING_SETS, LENIENT_SETS, type Act, type Drawn } from './one-truth-play.js'

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
  readonly name: 'counts' | 'leases' | 'holds' | 'blocks' | 'requests in flight'
  readonly acts: fc.Arbitrary<Act[]>
  /** Limits that all of the many sets have, too. */
  first(larger: readonly LimitInput[]): readonly LimitInput[]
}

const leaseIds = fc.constantFrom('lease-000001', 'lease-000002', 'lease_000003', 'lease-lease-')
const countedSet = setOf(0, 1, 2, 3, ...LENIENT_SETS)
const blockingSet = setOf(...BLOCKING_SETS, ...BLOCKING_SETS, ...BLOCKING_SETS, 0, 2, 3, 4)
const leasedSet = setOf(0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, ...LENIENT_SETS)
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
    name: 'blocks',
    acts: actsOf(
      {
        gapUs: fc.oneof(
          { weight: 4, arbitrary: fc.constantFrom(...edges, 0, 0, 300_000, 1_500_000, ...back) },
          { weight: 4, arbitrary: upTo(400_000) },
          { weight: 1, arbitrary: upTo(9_000_000) },
        ),
        size: 'max',
      },
      [1, wander(blocking(blockingSet))],
      [4, runOf(fc.constantFrom(...BLOCKING_SETS))],
      [4, plainOf(fc.constantFrom(...BLOCKING_SETS))],
      [4, lifted],
      [
        12,
        some(
          weighted(
            [6, blocking(blockingSet)],
            [1, counted(blockingSet)],
            [1, flying.map(({ drawn }) => drawn)],
          ),
        ),
      ],
    ),
    first: (larger) => larger.slice(1),
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
