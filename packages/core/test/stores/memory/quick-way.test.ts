// Law 5 for the quick way: it answers any schedule as the general way does, and leaves the same state.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { QuickWay } from '../../../src/stores/memory/quick-way.js'
import { variants, type Variant } from '../../support/variants.js'
import { ask, part, refundPart, setOf, storeAt } from './support.js'

/** Windows on the clock begin here: of a second, of five, and the hour in Kolkata. */
const START_MS = 1_769_862_600_000

afterEach(() => jest.restoreAllMocks())

const act = fc.record({
  kind: fc.constantFrom('consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'force'),
  gapUs: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0, 0, 1, 999_999, 1_000_000, 1_000_001, -1, -2_000_000) },
    fc.integer({ min: 0, max: 400_000 }),
    fc.integer({ min: 0, max: 5_000_000 }),
    fc.integer({ min: 0, max: 4_000_000_000 }),
  ),
  key: fc.constantFrom('k', 'k', 'l'),
  set: fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 3, 4),
  cost: fc.oneof(fc.constantFrom(1, 1, 20), fc.integer({ min: 1, max: 30 })),
  isQuick: fc.boolean(),
})
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never
const acts = fc.array(act, { minLength: 1, maxLength: 40 })

/** Sets with the same windows, smaller and larger, so that states are above a quota; and one with other windows. */
function setsOf(chosen: readonly Variant[]): LimitSet[] {
  const limits = (quota: number, windowMs = 1000): LimitSet =>
    setOf(...chosen.map((variant, i) => variant.limit(quota + 7 * i, windowMs * (i + 1))))
  return [limits(20), limits(300), limits(17), limits(4), limits(20, 5000)]
}

/** @param isQuick whether each act may be decided in the quick way */
function replay(
  sets: readonly LimitSet[],
  schedule: readonly Act[],
  isQuick: (next: Act) => boolean,
): unknown[] {
  const { store, clock } = storeAt(START_MS - 0.001)
  const real = QuickWay.prototype.decide
  let mayBeQuick = true
  jest.spyOn(QuickWay.prototype, 'decide').mockImplementation(function decide(this: QuickWay, ...request) {
    return mayBeQuick ? real.apply(this, request) : undefined
  })
  const said = schedule.map((next) => {
    mayBeQuick = isQuick(next)
    clock.now = (Math.round(clock.now * 1000) + next.gapUs) / 1000
    const asked = part(next.key, next.cost, sets[next.set])
    if (next.kind === 'force') {
      const used = asked.set.limits.map(() => [{ units: next.cost, ageUs: 0 }])
      return store.consume([{ shard: 0, grant: 'force', parts: [{ ...asked, used }] }])
    }
    const [outcome] = next.kind === 'peek' ? store.peek([ask(asked)]) : store.consume([ask(asked)])
    if (next.kind !== 'refund' || outcome?.limits.some(({ wait }) => wait !== 0)) return outcome
    const units = outcome!.limits.map(() => Math.ceil(next.cost / 2))
    return [outcome, store.refund([{ shard: 0, parts: [refundPart(asked, outcome!, units)] }])]
  })
  jest.restoreAllMocks()
  return said
}

function agree(chosen: readonly Variant[], schedule: readonly Act[]): void {
  const sets = setsOf(chosen)
  const general = replay(sets, schedule, () => false)
  expect(replay(sets, schedule, () => true)).toEqual(general)
  expect(replay(sets, schedule, (next) => next.isQuick)).toEqual(general)
}

test.each(variants)('$name', (variant) => {
  fc.assert(
    fc.property(acts, (schedule) => agree([variant], schedule)),
    { numRuns: cases(60, 300) },
  )
})

test('several limits of different algorithms', () => {
  const chosen = fc.array(fc.constantFrom(...variants), { minLength: 2, maxLength: 4 })
  fc.assert(fc.property(chosen, acts, agree), { numRuns: cases(60, 300) })
})

test.each(variants)('$name: what is common is decided quickly, allowed and denied', (variant) => {
  const { store, clock } = storeAt(START_MS)
  const spy = jest.spyOn(QuickWay.prototype, 'decide')
  const [set] = setsOf([variant, variant])
  for (const gap of [0, 1, 0, 300, ...Array<number>(12).fill(0), 1]) {
    clock.now += gap
    store.consume([ask(part('k', 2, set))])
  }
  store.peek([ask(part('k', 2, set))])
  const [first, ...rest] = spy.mock.results.map(({ value }) => value as unknown)
  expect([first, rest.includes(undefined), rest.length]).toEqual([undefined, false, 17])
})
