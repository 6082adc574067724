import { unitsOf, UsageLedger, usageAt, type Used } from '../../src/failure/local/usage-ledger.js'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import { type LimitInput, createLimitSet } from '../../src/plans/limit/limit.js'

const SECOND = 1_000_000
const setOf = (...limits: LimitInput[]): LimitSet => createLimitSet(...limits)
const set = setOf('5/8s', '9/80s')
const told = (used: readonly Used[], nowUs: number): unknown => used.map((one) => usageAt(one, nowUs))

/** The same number of units of each limit. */
const ofEach = ({ limits }: LimitSet, units: number): number[] => limits.map(() => units)
const add = (ledger: UsageLedger, key: string, of: LimitSet, ...[units, nowUs]: [number, number]): number =>
  ledger.add(
    key,
    of,
    ofEach(of, units).map((own) => ({ units: own, endsInUs: Infinity })),
    nowUs,
  )
const remove = (
  ledger: UsageLedger,
  key: string,
  of: LimitSet,
  ...[units, atUs]: [number, number]
): boolean => ledger.remove(key, of, ofEach(of, units), atUs)

test('each limit has its own units, with their age', () => {
  const ledger = new UsageLedger()
  add(ledger, 'a', set, 2, 0)
  add(ledger, 'a', set, 3, 2 * SECOND)
  // An eighth of the second window is 10 s, an eighth of the first is 1 s.
  expect(told(ledger.take('a'), 5 * SECOND)).toEqual([
    [
      [
        { units: 2, ageUs: 5 * SECOND },
        { units: 3, ageUs: 3 * SECOND },
      ],
      [{ units: 5, ageUs: 3 * SECOND }],
    ],
  ])
})

test('units of one entry age from the last of them, so none comes back early', () => {
  const ledger = new UsageLedger()
  for (const ms of [0, 300, 600, 999]) add(ledger, 'a', set, 1, ms * 1000)
  add(ledger, 'a', set, 1, 1_000_000)
  expect(told(ledger.take('a'), 1_000_000)).toEqual([
    [
      [
        { units: 4, ageUs: 1000 },
        { units: 1, ageUs: 0 },
      ],
      [{ units: 5, ageUs: 0 }],
    ],
  ])
})

test('units that no longer count are dropped, for each limit separately, and the rest is bounded', () => {
  const ledger = new UsageLedger()
  for (let second = 0; second < 10_000; second += 1) add(ledger, 'a', set, 1, second * SECOND)
  const [used] = ledger.take('a')
  const [short = [], long = []] = used?.entries ?? []
  expect([short.length, long.length]).toEqual([8, 8])
  expect(short[0]?.lastUs).toBe(9992 * SECOND)
})

test('limits that count as each other share their units, whatever their quotas', () => {
  const ledger = new UsageLedger()
  const more = setOf('50/8s', '90/80s')
  for (const one of [set, more, setOf('5/8s', '9/80s')]) expect(add(ledger, 'a', one, 2, 0)).toBe(0)
  expect(remove(ledger, 'a', more, 1, 0)).toBe(true)
  expect(told(ledger.take('a'), 0)).toEqual([[[{ units: 5, ageUs: 0 }], [{ units: 5, ageUs: 0 }]]])
})

test('of a key with ever other limits, the first ones are forgotten, and it says how many units that was', () => {
  const ledger = new UsageLedger()
  const forgotten = Array.from({ length: 40 }, (_, i) => add(ledger, 'a', setOf(`9/${i + 1}min`), i + 1, 0))
  expect([forgotten.slice(0, 16), forgotten[16], forgotten[39]]).toEqual([Array(16).fill(0), 1, 24])
  expect(ledger.take('a').map(unitsOf)).toEqual(Array.from({ length: 16 }, (_, i) => 25 + i))
})

test('units that are removed before they are taken are not reported', () => {
  const ledger = new UsageLedger()
  add(ledger, 'a', set, 3, 0)
  expect(remove(ledger, 'a', set, 2, 0)).toBe(true)
  expect(remove(ledger, 'a', set, 2, 0)).toBe(false)
  expect(told(ledger.take('a'), 0)).toEqual([[[{ units: 1, ageUs: 0 }], [{ units: 1, ageUs: 0 }]]])
  expect(remove(ledger, 'a', set, 1, 0)).toBe(false)
})

test('take returns units once, and nothing if all of them were removed', () => {
  const ledger = new UsageLedger()
  add(ledger, 'a', set, 3, 0)
  expect(ledger.take('a').map(unitsOf)).toEqual([6])
  expect(ledger.take('a')).toEqual([])
  add(ledger, 'a', set, 3, SECOND)
  remove(ledger, 'a', set, 3, SECOND)
  expect(ledger.take('a')).toEqual([])
})

test('units are kept separately for each plan of a subject', () => {
  const ledger = new UsageLedger()
  const other = setOf('7/min')
  add(ledger, 'a', set, 1, 0)
  add(ledger, 'a', other, 2, 0)
  add(ledger, 'a', set, 1, 0)
  expect(ledger.take('a').map((used) => [used.set === set, unitsOf(used)])).toEqual([
    [true, 4],
    [false, 2],
  ])
})

test('keys are separate, and a deleted key is forgotten', () => {
  const ledger = new UsageLedger()
  for (const key of ['a', '__proto__']) add(ledger, key, set, 1, 0)
  ledger.delete('a')
  expect([ledger.take('a').length, ledger.take('__proto__').length]).toEqual([0, 1])
})

test('when the clock goes back, no age is negative', () => {
  const ledger = new UsageLedger()
  add(ledger, 'a', set, 1, 5 * SECOND)
  expect(told(ledger.take('a'), 4 * SECOND)).toEqual([[[{ units: 1, ageUs: 0 }], [{ units: 1, ageUs: 0 }]]])
})

test('requests in flight are not charged: when the store is back it is told what is in flight then', () => {
  const ledger = new UsageLedger()
  const mixed = setOf('5/8s', '3 concurrent')
  add(ledger, 'a', mixed, 2, 0)
  expect(told(ledger.take('a'), 0)).toEqual([[[{ units: 2, ageUs: 0 }], []]])
  add(ledger, 'a', setOf('3 concurrent'), 2, 0)
  expect(ledger.take('a')).toEqual([])
})
