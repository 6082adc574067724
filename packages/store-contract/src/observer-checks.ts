import {
  createLimitSet,
  type LimitOptions,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
} from '@tollgate/core/store'
import type { Bench, Check } from './bench.js'
import { all, hasAnyWindow, isTaken, remainingOf, taken, upTo } from './requests.js'
import { same } from './same.js'

/** A limit that observes, and perhaps one behind it that denies. */
function observing(bench: Bench, quota: number, denies?: number): LimitSet {
  const [algorithm = 'sliding-log'] = bench.algorithms
  const limit = (units: number, window: string, other: string): LimitOptions =>
    hasAnyWindow(algorithm)
      ? { quota: units, window, algorithm: algorithm as NonNullable<LimitOptions['algorithm']> }
      : { quota: units, window: other, timeZone: 'UTC' }
  const observes = { ...limit(quota, '10 h', 'month'), mode: 'observe' } as const
  return denies === undefined
    ? createLimitSet(observes)
    : createLimitSet(observes, limit(denies, '20 h', 'week'))
}

/** For each outcome, whether the limit that observes would have denied it. */
function wouldDeny(outcomes: readonly Outcome[]): boolean[] {
  return outcomes.map(({ limits }) => (limits[0] as LimitOutcome).wouldWait !== undefined)
}

/** Limits that observe. */
export const observerChecks: readonly Check[] = [
  {
    name: 'observers: they deny nothing, say what they would have denied, and take only what fits',
    async run(bench) {
      const part = bench.part('a', 1, observing(bench, 2))
      const outcomes = []
      for (let i = 0; i < 4; i += 1) outcomes.push(...(await bench.consume(all(part))))
      same(taken(outcomes), [true, true, true, true], 'allowed: of 4 requests, with 2 units')
      same(wouldDeny(outcomes), [false, false, true, true], 'would have been denied')
      same(remainingOf(outcomes[3] as Outcome), [0], 'what is left')
      const [last] = (outcomes[3] as Outcome).limits
      same((last?.wouldWait ?? 0) > 0, true, 'wouldWait is the wait that it would have had')
    },
  },
  {
    name: 'observers: a cost that never fits is let in',
    async run(bench) {
      const [outcome] = await bench.consume(all(bench.part('a', 5, observing(bench, 2))))
      same(
        [isTaken(outcome as Outcome), outcome?.limits[0]?.wouldWait],
        [true, -1],
        'a cost of 5, of 2 units',
      )
      same(remainingOf(outcome as Outcome), [2], 'what is left')
    },
  },
  {
    name: 'observers: requests of one batch are observed one by one',
    async run(bench) {
      const request = all(bench.part('a', 1, observing(bench, 2)))
      const outcomes = await bench.consume(request, request, request)
      same(
        [taken(outcomes), wouldDeny(outcomes)],
        [
          [true, true, true],
          [false, false, true],
        ],
        'the batch',
      )
    },
  },
  {
    name: 'observers: a look says what would be, and takes nothing',
    async run(bench) {
      const set = observing(bench, 2)
      await bench.consume(all(bench.part('a', 2, set)))
      const looks = [
        ...(await bench.peek(all(bench.part('a', 1, set)))),
        ...(await bench.peek(all(bench.part('a', 1, set)))),
      ]
      same(
        [taken(looks), wouldDeny(looks)],
        [
          [true, true],
          [true, true],
        ],
        'two looks',
      )
    },
  },
  {
    name: 'observers: what another limit denies takes nothing from them',
    async run(bench) {
      const set = observing(bench, 5, 2)
      const outcomes = []
      for (let i = 0; i < 4; i += 1) outcomes.push(...(await bench.consume(all(bench.part('a', 1, set)))))
      same(taken(outcomes), [true, true, false, false], 'allowed: of 4 requests, with 2 units')
      same((outcomes[3] as Outcome).limits[0]?.remaining, 3, 'what is left of the limit that observes')
    },
  },
  {
    name: 'observers: as many units as fit are as many as fit the others',
    async run(bench) {
      const set = observing(bench, 2, 9)
      const [outcome] = await bench.consume(upTo(bench.part('a', 4, set)))
      same(
        outcome?.limits.map(({ granted }) => granted),
        [4, 4],
        'granted',
      )
      same(remainingOf(outcome as Outcome), [2, 5], 'what is left')
    },
  },
]
