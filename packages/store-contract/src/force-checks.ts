import assert from 'node:assert/strict'
import {
  implementations,
  type CompiledLimit,
  type LimitSet,
  type Outcome,
  type Usage,
} from '@tollgate/core/store'
import { all, force, grantedOf, remainingOf, taken, type Check } from './bench.js'

const HOUR_US = 3_600_000_000
/** Older than the longest window of the checks. */
const LONG_AGO_US = 100 * 24 * HOUR_US

/** By how much a reset may differ from the expected one, since the clocks of store and check differ. */
const MOST_APART_US = 1_000_000

/** When the first of these units comes back if no others are used, in µs, by the algorithm itself. */
function resetOf({ limits: [limit] }: LimitSet, at: number, usage: Usage): number {
  const { algorithm, paramsAt } = limit as CompiledLimit
  const { create, load, force: take, remaining, wait } = implementations[algorithm]
  const [state, params] = [create(), paramsAt(at / 1000)]
  load(state, at, at, params)
  take(state, [usage], params)
  return Math.max(wait(state, remaining(state, params) + 1, params), 0)
}

export const forceChecks: readonly Check[] = [
  {
    name: 'force: takes from each limit its own units',
    async run(bench) {
      const set = bench.pair(9, 6)
      const [outcome] = await bench.consume(
        force([
          bench.used(
            'a',
            set,
            [[2, 0]],
            [
              [1, 0],
              [3, 0],
            ],
          ),
        ]),
      )
      assert.deepEqual(grantedOf(outcome as Outcome), [2, 4])
      assert.deepEqual(remainingOf(outcome as Outcome), [7, 2])
      assert.deepEqual(taken([outcome as Outcome]), [true])
    },
  },
  {
    name: 'force: takes nothing from a limit without used units',
    async run(bench) {
      const set = bench.pair(9, 6)
      const [outcome] = await bench.consume(force([bench.used('a', set, [], [[3, 0]])]))
      assert.deepEqual(
        [grantedOf(outcome as Outcome), remainingOf(outcome as Outcome)],
        [
          [0, 3],
          [9, 3],
        ],
      )
    },
  },
  {
    name: 'force: goes over the quota, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(5, algorithm)
        await bench.consume(all(bench.part(algorithm, 4, set)))
        const [outcome] = await bench.consume(force([bench.used(algorithm, set, [[8, 0]])]))
        assert.deepEqual(
          [grantedOf(outcome as Outcome), remainingOf(outcome as Outcome)],
          [[8], [0]],
          algorithm,
        )
        // Ten units left on a wider plan means that all twelve are remembered.
        const wider = bench.set(22, algorithm)
        assert.deepEqual(await bench.left(algorithm, wider), [10], algorithm)
      }
    },
  },
  {
    name: 'force: counts units from the time of their use, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(5, algorithm)
        const old = bench.used(`${algorithm} old`, set, [[3, LONG_AGO_US]])
        const [gone] = await bench.consume(force([old]))
        assert.deepEqual([grantedOf(gone as Outcome), remainingOf(gone as Outcome)], [[3], [5]], algorithm)
        for (const ageUs of [HOUR_US, 0]) {
          const name = `${algorithm} used ${ageUs} µs ago`
          const [outcome] = await bench.consume(force([bench.used(name, set, [[5, ageUs]])]))
          const { at, limits } = outcome as Outcome
          const [told, reset] = [limits[0]?.reset ?? 0, resetOf(set, at, { units: 5, ageUs })]
          const isSo = Math.abs(told - reset) < MOST_APART_US
          assert.ok(isSo, `${name}: comes back in ${told} µs, expected ${reset}`)
        }
      }
    },
  },
  {
    name: 'force: takes from several keys',
    needsAtomic: true,
    async run(bench) {
      const set = bench.set()
      const parts = [bench.used('a', set, [[2, 0]]), bench.used('b', bench.pair(5, 5), [[9, 0]], [[1, 0]])]
      const [outcome] = await bench.consume(force(parts))
      assert.deepEqual(
        [grantedOf(outcome as Outcome), remainingOf(outcome as Outcome)],
        [
          [2, 9, 1],
          [3, 0, 4],
        ],
      )
    },
  },
  {
    name: 'force: an id counts once, and a repetition gets the answer of the first time',
    async run(bench) {
      const set = bench.pair(9, 9)
      const charge = (name: string, units: number) => {
        return force([bench.used('a', set, [[units, 0]], [[1, 0]])], bench.id(name))
      }
      const [first, again] = await bench.consume(charge('x', 2), charge('x', 2))
      const [late, other] = await bench.consume(charge('x', 2), charge('y', 2))
      assert.deepEqual(
        [first, again, late].map((outcome) => grantedOf(outcome as Outcome)),
        [
          [2, 1],
          [2, 1],
          [2, 1],
        ],
      )
      assert.deepEqual(
        [first, again, late].map((outcome) => remainingOf(outcome as Outcome)),
        [
          [7, 8],
          [7, 8],
          [7, 8],
        ],
      )
      assert.deepEqual(remainingOf(other as Outcome), [5, 7])
    },
  },
  {
    name: 'force: an id that comes many times at once counts once',
    async run(bench) {
      const set = bench.set(50)
      const charge = force([bench.used('a', set, [[3, 0]])], bench.id('x'))
      const calls = Array.from({ length: 10 }, () => bench.consume(charge))
      const granted = (await Promise.all(calls)).flat().map((outcome) => grantedOf(outcome)[0])
      assert.deepEqual(
        granted,
        Array.from({ length: 10 }, () => 3),
      )
      assert.deepEqual(await bench.left('a', set), [47])
    },
  },
]
