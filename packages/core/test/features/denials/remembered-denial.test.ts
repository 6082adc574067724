import {
  outcomeAt,
  rememberDenial,
  type RememberedDenial,
} from '../../../src/features/denials/remembered-denial.js'
import { createLimitSet } from '../../../src/plans/limit/limit.js'
import type { LimitOutcome } from '../../../src/stores/contract.js'

const set = createLimitSet('5/min')
const UNKNOWN = -1

/** A denial that was asked for at 100 ms and read at 110 ms; the store decided between them. */
function learnt(limits: LimitOutcome[], recheckMs = 1000): RememberedDenial | undefined {
  const outcome = { at: 5_000_000, limits }
  return rememberDenial({ set, cost: 1, outcome, sentAt: 100, arrivedAt: 110, recheckMs, lacking: Infinity })
}

function of(limits: LimitOutcome[]): RememberedDenial {
  const made = learnt(limits)
  if (!made) throw new Error('not remembered')
  return made
}

test('it denies until the earliest moment at which it can fit, and tells the latest', () => {
  const denial = of([{ wait: 50_000, remaining: 0, reset: 50_000 }])
  expect(denial.until).toBe(150)
  expect(outcomeAt(denial, 110)).toEqual({
    at: 5_000_000,
    limits: [{ wait: 50_000, remaining: 0, reset: 50_000 }],
  })
  // A µs before it could fit: the client is told to wait until the store has surely given the unit back.
  expect(outcomeAt(denial, 149.999)).toEqual({
    at: 5_039_999,
    limits: [{ wait: 10_001, remaining: 0, reset: 10_001 }],
  })
})

test('what is told changes with every whole ms, of each limit at its own moment', () => {
  const denial = of([
    { wait: 50_000, remaining: 0, reset: 50_000 },
    { wait: 49_600, remaining: 0, reset: 49_600 },
  ])
  const toldAt = (now: number): number[] => {
    const { limits } = outcomeAt(denial, now)
    return limits.map(({ wait }) => Math.ceil(wait / 1000))
  }
  const times = [110, 110.5, 110.6, 110.9, 111, 111.6, 120]
  expect(times.map(toldAt)).toEqual([
    [50, 50],
    [50, 50],
    [50, 49],
    [50, 49],
    [49, 49],
    [49, 48],
    [40, 40],
  ])
})

test('a limit whose cost may fit by now is not violated any more, and what it has left is not known', () => {
  const denial = of([
    { wait: 20_000, remaining: 0, reset: 20_000 },
    { wait: 90_000, remaining: 0, reset: 90_000 },
    { wait: 0, remaining: 7, reset: 30_000 },
    { wait: 0, remaining: 9, reset: 0 },
  ])
  const told = (now: number): number[][] => {
    const { limits } = outcomeAt(denial, now)
    return [limits.map(({ wait }) => Math.ceil(wait / 1000)), limits.map(({ remaining }) => remaining)]
  }
  expect(told(119.9)).toEqual([
    [11, 81, 0, 0],
    [0, 0, 7, 9],
  ])
  expect(told(120)).toEqual([
    [0, 80, 0, 0],
    [UNKNOWN, 0, 7, 9],
  ])
  expect(told(130)).toEqual([
    [0, 70, 0, 0],
    [UNKNOWN, 0, UNKNOWN, 9],
  ])
})

test('where cheaper requests can still pass, nothing but the denial is certain', () => {
  const denial = of([
    { wait: 50_000, remaining: 2, reset: 30_000 },
    { wait: 0, remaining: 9, reset: 30_000 },
  ])
  const { limits } = outcomeAt(denial, 115)
  expect(limits.map(({ wait, remaining }) => [wait, remaining])).toEqual([
    [45_000, UNKNOWN],
    [0, UNKNOWN],
  ])
})

test('a cost that never fits is remembered until it is asked for again', () => {
  const denial = of([{ wait: -1, remaining: 0, reset: 1000 }])
  expect([denial.until, denial.recheckAt]).toEqual([Infinity, 1100])
  expect(outcomeAt(denial, 1000).limits).toEqual([{ wait: -1, remaining: UNKNOWN, reset: 0 }])
})

test('a denial that is over when its reply is read is not remembered', () => {
  expect(learnt([{ wait: 10_000, remaining: 0, reset: 10_000 }])).toBeUndefined()
  expect(learnt([{ wait: 10_001, remaining: 0, reset: 10_001 }])).toBeDefined()
  expect(learnt([{ wait: 10_001, remaining: 0, reset: 10_001 }], 10)).toBeUndefined()
})
