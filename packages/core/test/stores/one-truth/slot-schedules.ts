// Random schedules of everything that stores decide, with requests in flight among it.
import fc from 'fast-check'
import type { Usage } from '../../../src/algorithms/implementation.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Answer, SlotHolder, Store, StoreRequest } from '../../../src/stores/contract.js'
import type { Clock } from '../../support/benches.js'
import { advance } from '../../support/schedules.js'
import { MANY_SETS } from '../../support/store-requests.js'

const gapUs = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 999, 1_000_001, -1, -250_000, -2_000_000) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 300_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(5_000_000, 13_999_999, 14_000_000, 20_000_000) },
)
/** Behind the sets of its own come many, of which few are asked often. */
const OWN_SETS = 4
const set: fc.Arbitrary<number> = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(0, 0, 0, 1, 2, 3) },
  { weight: 1, arbitrary: fc.constantFrom(4, 5, 30) },
)
const asked = fc.record({
  kind: fc.constantFrom('all', 'all', 'all', 'all', 'declare', 'release', 'release', 'upTo', 'force'),
  key: fc.constantFrom('k', 'k', 'k', 'l'),
  set,
  cost: fc.constantFrom(1, 1, 1, 2, 7),
  /** None tells of no slots. */
  holder: fc.constantFrom('proc-A', 'proc-A', 'proc-B', 'proc_C', 'roc-Bp', undefined),
  held: fc.nat({ max: 4 }),
  /** How far behind the last number that the store told the holder is. */
  behind: fc.constantFrom(0, 0, 0, 1, 2, -3),
  times: fc.constantFrom(1, 1, 1, 2, 4),
  isJoint: fc.constantFrom(false, false, false, true),
})
type Asked = typeof asked extends fc.Arbitrary<infer T> ? T : never

/** A subject that moves among many plans, with a request in flight on each. */
const wander = fc.record({ one: asked, from: fc.constantFrom(0, 2, 40) }).map(({ one, from }): Asked[] =>
  Array.from({ length: MANY_SETS }, (_, i) => {
    const moved = OWN_SETS + ((from + i) % MANY_SETS)
    return { ...one, kind: 'all', set: moved, cost: 1, times: 1 }
  }),
)
const act = fc.record({
  gapUs,
  batch: fc.oneof(
    { weight: 20, arbitrary: fc.array(asked, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: wander },
  ),
  isPeek: fc.constantFrom(false, false, false, false, true),
})
export type SlotAct = typeof act extends fc.Arbitrary<infer T> ? T : never
export const slotActs = fc.array(act, { minLength: 1, maxLength: 25 })

/** Plays a schedule on a store, and resolves with all its answers. */
export async function playSlots(
  store: Store,
  clock: Clock,
  sets: readonly LimitSet[],
  acts: readonly SlotAct[],
): Promise<readonly unknown[]> {
  const said: unknown[] = []
  const numbers = new Map<string, number>()
  for (const { gapUs: gap, batch, isPeek } of acts) {
    advance(clock, gap)
    const requests = batch.flatMap((one) => {
      const request = requestOf(one, sets, numbers)
      return Array.from({ length: one.times }, () => request)
    })
    const all = isPeek ? requests.filter(({ grant }) => grant === 'all') : requests
    if (all.length === 0) continue
    const answers = await (isPeek ? store.peek(all) : store.consume(all))
    if (!isPeek) all.forEach((request, i) => note(request, answers[i], numbers))
    said.push(answers)
  }
  return said
}

function requestOf(
  one: Asked,
  sets: readonly LimitSet[],
  numbers: ReadonlyMap<string, number>,
): StoreRequest {
  const { kind, key, cost, holder, held, behind, isJoint } = one
  const isTelling = kind === 'declare' || kind === 'release'
  const set = sets[one.set] as LimitSet
  const grant = (isTelling && set.inFlightIndex === undefined ? 'all' : kind) as StoreRequest['grant']
  const used: readonly Usage[][] = set.limits.map(() => [{ units: cost, ageUs: 500 }])
  const keys = isJoint && !isTelling ? [key, 'm'] : [key]
  const parts = keys.map((name) => {
    const known = Math.max((numbers.get(`${name} ${holder}`) ?? 0) - behind, 0)
    const slots: SlotHolder | undefined = holder === undefined ? undefined : { id: holder, held, known }
    const hasSlots = set.inFlightIndex !== undefined && (grant === 'all' || isTelling)
    return { key: name, set, cost, ...(hasSlots && { slots }), ...(grant === 'force' && { used }) }
  })
  return { shard: 0, grant, parts }
}

function note({ parts }: StoreRequest, answer: Answer | undefined, numbers: Map<string, number>): void {
  if (!answer || !('limits' in answer)) return
  let next = 0
  for (const { key, set, slots } of parts) {
    const slot = set.inFlightIndex === undefined ? undefined : answer.limits[next + set.inFlightIndex]?.slot
    if (slots && slot !== undefined) numbers.set(`${key} ${slots.id}`, slot)
    next += set.limits.length
  }
}
