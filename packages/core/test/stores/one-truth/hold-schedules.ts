// Random schedules of everything that stores decide, with reservations, places and leases among it.
import fc from 'fast-check'
import type { LimitInput } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Hold, LeaseOrder, Store, StoreRequest } from '../../../src/stores/contract.js'
import { advance } from '../../support/schedules.js'
import type { Clock } from '../../support/benches.js'
import { MANY_SETS, setOf, waiting } from '../../support/store-requests.js'

const gapUs = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 0, 0, 0, 1, 999, 100_000, 1_000_001, -1, -250_000, -2_000_000) },
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 100_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 5_000_000 }) },
)
const key = fc.constantFrom('k', 'k', 'k', 'l')
/** Behind the sets of its own come many, of which few are asked often. */
const OWN_SETS = 5
const set: fc.Arbitrary<number> = fc.oneof(
  { weight: 19, arbitrary: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 3, 4) },
  { weight: 1, arbitrary: fc.constantFrom(5, 6, 30) },
)
const cost = fc.oneof(fc.constantFrom(1, 1, 2, 20), fc.integer({ min: 1, max: 12 }))
/** Few ids, so that holds and reports come again, late and in another order. */
const anyId = fc.integer({ min: 1, max: 60 }).map((n) => `hold-${String(n).padStart(7, '0')}`)
const hold = fc.record({
  kind: fc.constantFrom('place', 'place', 'place', 'place', 'place', 'reservation') satisfies fc.Arbitrary<
    Hold['kind']
  >,
  id: anyId,
  lengthUs: fc.constantFrom(50_000, 333_333, 1_000_000, 2_000_000, 5_000_000, 1),
  slackUs: fc.constantFrom(20_000, 20_000, 50_000, 100_000),
  most: fc.constantFrom(1, 3, 100, 100, 100),
})
const held = fc.record({ kind: fc.constant('hold' as const), key, set, cost, hold, isJoint: fc.boolean() })
const plain = fc.record({
  kind: fc.constantFrom('all' as const, 'all' as const, 'all' as const, 'upTo' as const, 'force' as const),
  key,
  set,
  cost,
  isJoint: fc.boolean(),
})
const report = fc.record({
  id: anyId,
  used: fc.constantFrom(0, 0, 1, 5, 12),
  left: fc.constantFrom(0, 0, 0, 1, 5),
})
const wish = fc.record({
  id: anyId,
  most: fc.integer({ min: 1, max: 10 }),
  least: fc.constant(1),
  share: fc.constantFrom(0.5, 1),
  lengthUs: fc.constantFrom(15_625, 500_000),
  lagUs: fc.constantFrom(0, 0, 500_000),
})
const order = fc.record({
  kind: fc.constant('lease' as const),
  key,
  set,
  order: fc.record({
    reports: fc.array(report, { maxLength: 3 }),
    wish: fc.option(wish, { nil: undefined, freq: 1 }),
  }),
})
type Asked = typeof held | typeof plain | typeof order extends fc.Arbitrary<infer T> ? T : never

/** Requests of one subject at once that all may wait: each sees the places of those before. */
const burst = fc
  .record({ key, set, asked: fc.array(held, { minLength: 3, maxLength: 6 }) })
  .map(({ asked, ...same }): Asked[] => asked.map((one) => ({ ...one, ...same, isJoint: false })))

/** A subject that moves among many plans. */
const wander = fc.record({ key, from: fc.constantFrom(0, 2, 40) }).map(({ key: asked, from }): Asked[] =>
  Array.from({ length: MANY_SETS }, (_, i) => {
    const moved = OWN_SETS + ((from + i) % MANY_SETS)
    return { kind: 'all', key: asked, set: moved, cost: 1, isJoint: false }
  }),
)
const act = fc.record({
  gapUs,
  isPeek: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  batch: fc.oneof(
    {
      weight: 30,
      arbitrary: fc.array<Asked>(
        fc.oneof(
          { weight: 4, arbitrary: held },
          { weight: 2, arbitrary: plain },
          { weight: 2, arbitrary: order },
        ),
        { minLength: 1, maxLength: 4 },
      ),
    },
    { weight: 10, arbitrary: burst },
    { weight: 1, arbitrary: wander },
  ),
})
export type HoldAct = typeof act extends fc.Arbitrary<infer T> ? T : never
export const holdActs = fc.array(act, { minLength: 1, maxLength: 30, size: 'max' })

/** Sets that share some limits: some may wait, one has larger quotas, and one counts requests in flight, too. Then many. */
export function heldSets(
  limits: readonly LimitInput[],
  larger: readonly LimitInput[],
  many: readonly LimitSet[],
): LimitSet[] {
  return [
    waiting(setOf(...limits)),
    setOf(...[...limits].reverse()),
    waiting(setOf(...larger)),
    waiting(setOf(...limits.slice(0, 1), '9/7s')),
    waiting(setOf(...limits, '5 concurrent')),
    ...many.map((one) => waiting(one)),
  ]
}

function requestOf(asked: Asked, sets: readonly LimitSet[]): StoreRequest {
  const own = sets[asked.set] as LimitSet
  if (asked.kind === 'lease') {
    const parts = [{ key: asked.key, set: own, cost: asked.order.wish?.most ?? 1 }]
    return { shard: 0, grant: 'lease', order: asked.order as LeaseOrder, parts }
  }
  const other = sets[(asked.set + 1) % OWN_SETS] as LimitSet
  const named = [{ name: asked.key, set: own }, ...(asked.isJoint ? [{ name: 'm', set: other }] : [])]
  const parts = named.map(({ name, set: ofPart }) => ({
    key: name,
    set: ofPart,
    cost: asked.cost,
    used: ofPart.limits.map(() => [{ units: asked.cost, ageUs: 1000 }]),
  }))
  if (asked.kind === 'hold') return { shard: 0, grant: 'all', parts, hold: asked.hold }
  return { shard: 0, grant: asked.kind, parts }
}

/** Plays a schedule on a store, and resolves with its requests and all answers. */
export async function playHolds(
  store: Store,
  clock: Clock,
  sets: readonly LimitSet[],
  acts: readonly HoldAct[],
): Promise<{ requests: StoreRequest[]; said: unknown[] }> {
  const requests: StoreRequest[] = []
  const said: unknown[] = []
  for (const { gapUs: gap, isPeek, batch } of acts) {
    advance(clock, gap)
    const asked = batch.map((one) => requestOf(one, sets)).filter(({ grant }) => !isPeek || grant === 'all')
    if (asked.length === 0) continue
    requests.push(...asked)
    said.push(...(await store[isPeek ? 'peek' : 'consume'](asked)))
  }
  return { requests, said }
}
