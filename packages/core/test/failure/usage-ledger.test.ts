import { unitsOf, UsageLedger, usageAt, type Used } from '../../src/failure/usage-ledger.js'
import { limitSetOf } from '../../src/plans/limit-set-of.js'
import type { LimitSet } from '../../src/plans/limit-set.js'
import type { LimitInput } from '../../src/plans/limit.js'

const SECOND = 1_000_000
const setOf = (...limits: LimitInput[]): LimitSet => limitSetOf(...limits)
const set = setOf('5/8s', '9/80s')
const told = (used: readonly Used[], nowUs: number): unknown => used.map((one) => usageAt(one, nowUs))

test('each limit has its own units, as old as they are', () => {
  const ledger = new UsageLedger()
  ledger.add('a', set, 2, 0)
  ledger.add('a', set, 3, 2 * SECOND)
  // An eighth of the second window is 10 s, and one of the first a second.
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

test('what is kept together ages as its last unit does, so it never comes back early', () => {
  const ledger = new UsageLedger()
  for (const ms of [0, 300, 600, 999]) ledger.add('a', set, 1, ms * 1000)
  ledger.add('a', set, 1, 1_000_000)
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

test('what no longer counts is dropped, of each limit by itself, and what is kept is bounded', () => {
  const ledger = new UsageLedger()
  for (let second = 0; second < 10_000; second += 1) ledger.add('a', set, 1, second * SECOND)
  const [used] = ledger.take('a')
  const [short = [], long = []] = used?.entries ?? []
  expect([short.length, long.length]).toEqual([8, 8])
  expect(short[0]?.lastUs).toBe(9992 * SECOND)
})

test('what comes back before it is handed over is told no more', () => {
  const ledger = new UsageLedger()
  ledger.add('a', set, 3, 0)
  expect(ledger.remove('a', set, 2, 0)).toBe(true)
  expect(ledger.remove('a', set, 2, 0)).toBe(false)
  expect(told(ledger.take('a'), 0)).toEqual([[[{ units: 1, ageUs: 0 }], [{ units: 1, ageUs: 0 }]]])
  expect(ledger.remove('a', set, 1, 0)).toBe(false)
})

test('what is handed over is handed over once, and nothing where all came back', () => {
  const ledger = new UsageLedger()
  ledger.add('a', set, 3, 0)
  expect(ledger.take('a').map(unitsOf)).toEqual([6])
  expect(ledger.take('a')).toEqual([])
  ledger.add('a', set, 3, SECOND)
  ledger.remove('a', set, 3, SECOND)
  expect(ledger.take('a')).toEqual([])
})

test('plans that change are told apart, each by its own limits', () => {
  const ledger = new UsageLedger()
  const other = setOf('7/min')
  ledger.add('a', set, 1, 0)
  ledger.add('a', other, 2, 0)
  ledger.add('a', set, 1, 0)
  expect(ledger.take('a').map((used) => [used.set === set, unitsOf(used)])).toEqual([
    [true, 4],
    [false, 2],
  ])
})

test('keys are apart, and one that is deleted is forgotten', () => {
  const ledger = new UsageLedger()
  for (const key of ['a', '__proto__']) ledger.add(key, set, 1, 0)
  ledger.delete('a')
  expect([ledger.take('a').length, ledger.take('__proto__').length]).toEqual([0, 1])
})

test('a clock that went back makes nothing older than new', () => {
  const ledger = new UsageLedger()
  ledger.add('a', set, 1, 5 * SECOND)
  expect(told(ledger.take('a'), 4 * SECOND)).toEqual([[[{ units: 1, ageUs: 0 }], [{ units: 1, ageUs: 0 }]]])
})
