import {
  createLimitSet,
  refundOf,
  type LimitOptions,
  type LimitSet,
  type Outcome,
} from '@tollgate/core/store'
import type { Bench, Check } from './bench.js'
import { all, isTaken, remainingOf, taken, upTo } from './requests.js'
import { same } from './same.js'

/** A limit with overage, and perhaps one behind it that denies. */
function exceedable(bench: Bench, quota: number, denies?: number): LimitSet {
  const limit = (units: number, window: string, other: string): LimitOptions =>
    bench.algorithms.includes('fixed-window')
      ? { quota: units, window, algorithm: 'fixed-window' }
      : { quota: units, window: other, timeZone: 'UTC' }
  const overage = { ...limit(quota, '10 h', 'month'), overage: true }
  return denies === undefined
    ? createLimitSet(overage)
    : createLimitSet(overage, limit(denies, '20 h', 'week'))
}

/** For each outcome, the units beyond the quota. */
function overOf(outcomes: readonly Outcome[]): number[] {
  return outcomes.map(({ limits }) => limits[0]?.over ?? 0)
}

/** Limits with overage. */
export const overageChecks: readonly Check[] = [
  {
    name: 'overage: what exceeds the quota is let in, counted and told',
    async run(bench) {
      const request = all(bench.part('a', 2, exceedable(bench, 3)))
      const outcomes = []
      for (let i = 0; i < 3; i += 1) outcomes.push(...(await bench.consume(request)))
      same(taken(outcomes), [true, true, true], 'allowed: 3 requests for 2 of 3 units')
      same(overOf(outcomes), [0, 1, 3], 'units beyond the quota (`over`)')
      same(outcomes.map(remainingOf), [[1], [0], [0]], 'what is left')
    },
  },
  {
    name: 'overage: requests of one batch are counted one by one, and a cost above the quota is let in',
    async run(bench) {
      const request = all(bench.part('a', 4, exceedable(bench, 3)))
      const outcomes = await bench.consume(request, request, request)
      same(
        [taken(outcomes), overOf(outcomes)],
        [
          [true, true, true],
          [1, 5, 9],
        ],
        'the batch',
      )
    },
  },
  {
    name: 'overage: a look tells what exceeds the quota, and takes nothing',
    async run(bench) {
      const set = exceedable(bench, 3)
      await bench.consume(all(bench.part('a', 5, set)))
      const looks = [
        ...(await bench.peek(all(bench.part('a', 1, set)))),
        ...(await bench.peek(all(bench.part('a', 1, set)))),
      ]
      same(
        [taken(looks), overOf(looks)],
        [
          [true, true],
          [2, 2],
        ],
        'two looks',
      )
    },
  },
  {
    name: 'overage: what another limit denies is not counted',
    async run(bench) {
      const set = exceedable(bench, 1, 2)
      const outcomes = []
      for (let i = 0; i < 4; i += 1) outcomes.push(...(await bench.consume(all(bench.part('a', 1, set)))))
      same(taken(outcomes), [true, true, false, false], 'allowed: of 4 requests, with 2 units')
      same(overOf(outcomes), [0, 1, 1, 1], 'units beyond the quota (`over`)')
    },
  },
  {
    name: 'overage: as many units as fit are as many as fit the others',
    async run(bench) {
      const [outcome] = await bench.consume(upTo(bench.part('a', 4, exceedable(bench, 2, 9))))
      same(
        outcome?.limits.map(({ granted }) => granted),
        [4, 4],
        'granted',
      )
      same(overOf([outcome as Outcome]), [2], 'units beyond the quota (`over`)')
    },
  },
  {
    name: 'overage: a refund gives back what exceeds the quota first',
    async run(bench) {
      const request = all(bench.part('a', 5, exceedable(bench, 3)))
      const [outcome] = (await bench.consume(request)) as [Outcome]
      same(isTaken(outcome), true, 'allowed: a request for 5 of 3 units')
      same(await bench.refund(refundOf(request, outcome, 1)), [true], 'the refund gave units back')
      const [look] = (await bench.peek(request)) as [Outcome]
      same([overOf([look]), remainingOf(look)], [[1], [0]], 'beyond the quota, and left')
    },
  },
]
