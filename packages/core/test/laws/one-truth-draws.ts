// What random schedules are made of: requests of each kind that a store decides, drawn at random.
import fc from 'fast-check'
import type { Grant, Hold } from '../../src/stores/contract.js'
import { MANY_SETS } from '../support/store-requests.js'
import { BLOCKING_SETS, LENIENT_SETS, OWN_SETS, type Asked, type Drawn } from './one-truth-play.js'

export const KEYS = ['k', 'l', 'm']
const busyKey = fc.constantFrom('k', 'k', 'k', 'l')
export const back = [-1, -250_000, -2_000_000]
export const upTo = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most })

/** Mostly one of these sets, seldom one of the many: few of those are asked again, when their states have been merged. */
export const setOf = (...own: readonly number[]): fc.Arbitrary<number> =>
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
export function counted(set: fc.Arbitrary<number>): fc.Arbitrary<Drawn> {
  const cost = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 25 }))
  const asked = fc.uniqueArray(fc.record({ key: fc.constantFrom(...KEYS), set, cost }), {
    ...{ minLength: 1, maxLength: 3, selector: ({ key }: { key: string }) => key },
  })
  const grant = fc.constantFrom<Grant>('all', 'all', 'upTo', 'force')
  const id = fc.option(fc.constantFrom('a', 'b', 'c'), { nil: undefined })
  return fc.record({ asked, grant, usages, id })
}

/** Many requests for few keys, so that a batch asks the same of a key several times. */
export const plainOf = (set: fc.Arbitrary<number>): fc.Arbitrary<readonly Drawn[]> =>
  fc.array(
    fc.record({
      grant: fc.constant<Grant>('all'),
      asked: fc.tuple(fc.record({ key: fc.constantFrom(...KEYS), set, cost: fc.constantFrom(1, 1, 3) })),
    }),
    { minLength: 1, maxLength: 16 },
  )
export const plain = plainOf(fc.constantFrom(0, 0, 0, 1))

/** The same asked of few keys, several times: a batch that consume-run.lua decides if the set has one limit. */
export const runOf = (sets: fc.Arbitrary<number>): fc.Arbitrary<readonly Drawn[]> =>
  fc
    .record({
      keys: fc.array(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 16 }),
      set: sets,
      cost: fc.constantFrom(1, 1, 2, 5, 30),
    })
    .map(({ keys, set, cost }) => keys.map((key) => ({ asked: [{ key, set, cost }], grant: 'all' })))

export const run = runOf(fc.constantFrom(0, 0, 2, ...LENIENT_SETS))

/** Few processes and numbers, so that reports of a tally come again, late and in another order. */
const tally = fc.record({
  by: fc.constantFrom('proc-A', 'proc-A', 'proc-B', 'roc-Bp'),
  number: fc.integer({ min: 1, max: 3 }),
  total: fc.constantFrom(1, 1, 2, 3),
  ageUs: fc.constantFrom(0, 1000, 400_000, 999_999, 1_000_000, 2_500_000),
})

/** Requests that are denied again and again, of plans whose denials block and of others, and the ends of blocks. */
export function blocking(sets: fc.Arbitrary<number>): fc.Arbitrary<Drawn> {
  const asked = fc.record({
    key: busyKey,
    set: sets,
    cost: fc.constantFrom(1, 5, 15, 20, 30),
    tally: fc.option(tally, { nil: undefined, freq: 3 }),
    countsDenial: fc.constantFrom(undefined, undefined, undefined, false as const),
  })
  const other = asked.map((one) => ({ ...one, key: 'm' }))
  return fc
    .record({
      grant: fc.constantFrom<Grant>('all', 'all', 'all', 'all', 'all', 'all', 'upTo', 'unblock'),
      asked: fc.oneof(
        { weight: 4, arbitrary: fc.tuple(asked) },
        { weight: 1, arbitrary: fc.tuple(asked, other) },
      ) as fc.Arbitrary<readonly Asked[]>,
      isReserved: fc.constantFrom(false, false, false, true),
      made: hold,
    })
    .map(({ grant, asked: all, isReserved, made }): Drawn => {
      if (grant === 'unblock') return { grant, asked: all.slice(0, 1) }
      return isReserved && grant === 'all'
        ? { grant, asked: all, hold: { ...made, kind: 'reservation' } }
        : { grant, asked: all }
    })
}

/** Denials that block a key, whose block then ends, in one batch. */
export const lifted: fc.Arbitrary<readonly Drawn[]> = fc
  .record({ key: busyKey, set: fc.constantFrom(...BLOCKING_SETS), times: fc.integer({ min: 3, max: 6 }) })
  .map(({ key, set, times }) => [
    ...Array.from({ length: times }, (): Drawn => ({ grant: 'all', asked: [{ key, set, cost: 19 }] })),
    { grant: 'unblock', asked: [{ key, set, cost: 1 }] },
  ])

/** A subject that moves among many plans: through all of them, or some. */
export function wander(one: fc.Arbitrary<Drawn>): fc.Arbitrary<readonly Drawn[]> {
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

export function leased({ set, id, most }: Leasing): fc.Arbitrary<Drawn> {
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

export const holdId = fc.integer({ min: 1, max: 60 }).map((n) => `hold-${String(n).padStart(7, '0')}`)
const hold = fc.record({
  kind: fc.constantFrom<Hold['kind'][]>('place', 'place', 'place', 'place', 'place', 'reservation'),
  id: holdId,
  lengthUs: fc.constantFrom(50_000, 333_333, 1_000_000, 2_000_000, 5_000_000, 1),
  slackUs: fc.constantFrom(20_000, 20_000, 50_000, 100_000),
  most: fc.constantFrom(1, 3, 100, 100, 100),
})
export const heldSet = setOf(0, 0, 0, 0, 0, 1, 2, 3, 4, ...LENIENT_SETS)
export const held = fc
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
export const burst = fc
  .record({ key: busyKey, set: heldSet, all: fc.array(held, { minLength: 3, maxLength: 6 }) })
  .map(({ key, set, all }): readonly Drawn[] =>
    all.map((one) => ({ ...one, asked: one.asked.slice(0, 1).map(({ cost }) => ({ key, set, cost })) })),
  )

export const flying = fc
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
    set: setOf(4, 4, 4, 5, 6, 0, ...LENIENT_SETS),
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
export const flights: fc.Arbitrary<readonly Drawn[]> = fc
  .array(flying, { minLength: 1, maxLength: 4 })
  .map((all) => all.flatMap(({ times, drawn }) => Array.from({ length: times }, () => drawn)))

/** Requests and releases of one holder, of few keys: a batch that consume-slots.lua decides if the set has one limit. */
export const slotsRun = (set: number): fc.Arbitrary<readonly Drawn[]> =>
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
