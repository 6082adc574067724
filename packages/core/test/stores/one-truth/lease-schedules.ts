// Random schedules of everything that stores decide, with leases among it.
import fc from 'fast-check'
import type { Usage } from '../../../src/algorithms/implementation.js'
import type { LimitInput } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { refundOf } from '../../../src/stores/receipts.js'
import type { Answer, LeaseOrder, Store, StoreRequest } from '../../../src/stores/contract.js'
import { advance } from '../../support/schedules.js'
import type { Clock } from '../../support/benches.js'
import { MANY_SETS, setOf } from '../../support/store-requests.js'

const gapUs = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 999, 100_000, 1_000_001, -1, -250_000, -2_000_000) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 300_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 5_000_000 }) },
)
const key = fc.constantFrom('k', 'k', 'k', 'l')
const set: fc.Arbitrary<number> = fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 30)
const used = fc.record({
  units: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(300, 2 ** 39)),
  ageUs: fc.oneof(fc.constantFrom(0, 1, 999_999), fc.integer({ min: 0, max: 4_000_000 })),
})
/** Few ids, so that wishes and reports of one lease come again, late and in another order. */
const leaseId = fc.constantFrom('lease-000001', 'lease-000002', 'lease_000003', 'lease-lease-')
const report = fc.record({
  id: leaseId,
  used: fc.integer({ min: 0, max: 12 }),
  left: fc.constantFrom(0, 0, 1, 2, 5, 12),
})
const wish = fc.record({
  id: leaseId,
  most: fc.integer({ min: 1, max: 30 }),
  least: fc.constantFrom(1, 1, 3),
  share: fc.constantFrom(0.25, 0.5, 0.1, 1),
  lengthUs: fc.constantFrom(15_625, 100_000, 500_000, 1_000_000, 1000),
  lagUs: fc.constantFrom(0, 0, 0, 500_000, 1_000_000),
})
const lease = fc.record({
  kind: fc.constant('lease' as const),
  key,
  set,
  order: fc.record({
    reports: fc.array(report, { maxLength: 3 }),
    wish: fc.option(wish, { nil: undefined, freq: 3 }),
  }),
})
const plain = fc.record({
  kind: fc.constantFrom('all' as const, 'all' as const, 'upTo' as const, 'force' as const),
  key,
  set,
  cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 25 })),
  usages: fc.array(
    fc.array(used, { maxLength: 3 }).map((list) => list.sort((a, b) => b.ageUs - a.ageUs)),
    { minLength: 4, maxLength: 4 },
  ),
  /** Whether it asks another key, too. */
  isJoint: fc.boolean(),
})
type Asked = typeof lease | typeof plain extends fc.Arbitrary<infer T> ? T : never

/** A subject that moves among many plans. */
const wander = fc.record({ key, from: fc.constantFrom(4, 4, 6, 40) }).map(({ key: asked, from }): Asked[] =>
  Array.from({ length: MANY_SETS }, (_, i) => {
    const moved = 4 + ((from - 4 + i) % MANY_SETS)
    return { kind: 'all', key: asked, set: moved, cost: 1, usages: [], isJoint: false }
  }),
)
const act = fc.oneof(
  { weight: 1, arbitrary: fc.record({ gapUs, batch: wander }) },
  {
    weight: 10,
    arbitrary: fc.record({
      gapUs,
      batch: fc.array<Asked>(fc.oneof({ weight: 3, arbitrary: lease }, { weight: 2, arbitrary: plain }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ gapUs, peeked: fc.record({ key, set, cost: fc.constantFrom(1, 5, 20) }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ gapUs, back: fc.nat({ max: 3 }), units: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 1, arbitrary: fc.record({ gapUs, reset: fc.subarray(['k', 'l']) }) },
)
export type LeaseAct = typeof act extends fc.Arbitrary<infer T> ? T : never
export const leaseActs = fc.array(act, { minLength: 1, maxLength: 30 })

/** Sets of one to three limits that share some limits; the third has the same with a larger quota. Then many others. */
export function leasedSets(
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

function requestOf(asked: Asked, sets: readonly LimitSet[]): StoreRequest {
  const own = sets[asked.set] as LimitSet
  if (asked.kind === 'lease') {
    const order = asked.order as LeaseOrder
    const parts = [{ key: asked.key, set: own, cost: order.wish?.most ?? 1 }]
    return { shard: 0, grant: 'lease', order, parts }
  }
  const { kind, cost, usages, isJoint } = asked
  const usedOf = ({ limits }: LimitSet): readonly Usage[][] => limits.map((_, i) => usages[i] as Usage[])
  const parts = [asked.key, ...(isJoint ? ['m'] : [])].map((name) => {
    return { key: name, set: own, cost, ...(kind === 'force' && { used: usedOf(own) }) }
  })
  return { shard: 0, grant: kind, parts }
}

function isTaken({ grant }: StoreRequest, answer: Answer | undefined): boolean {
  if (!answer || !('limits' in answer)) return false
  return grant === 'all' ? answer.limits.every(({ wait }) => wait === 0) : grant === 'upTo'
}

/** Plays a schedule on a store, and resolves with all its answers. */
export async function playLeases(
  store: Store,
  clock: Clock,
  sets: readonly LimitSet[],
  acts: readonly LeaseAct[],
): Promise<unknown[]> {
  const taken: [StoreRequest, Answer][] = []
  const said: unknown[] = []
  for (const next of acts) {
    advance(clock, next.gapUs)
    if ('reset' in next) await store.reset(next.reset, 0)
    else if ('peeked' in next) {
      const { peeked } = next
      const parts = [{ ...peeked, set: sets[peeked.set] as LimitSet }]
      said.push(await store.peek([{ shard: 0, grant: 'all', parts }]))
    } else if ('back' in next) {
      const [request, answer] = taken.at(-1 - next.back) ?? []
      if (request && answer && 'limits' in answer)
        said.push(await store.refund([refundOf(request, answer, next.units)]))
    } else {
      const batch = next.batch.map((asked) => requestOf(asked, sets))
      const answers = await store.consume(batch)
      said.push(answers)
      batch.forEach((request, i) => {
        if (isTaken(request, answers[i])) taken.push([request, answers[i] as Answer])
      })
    }
  }
  return said
}
