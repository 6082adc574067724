import type { Outcome } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, force, given, remainingOf, taken } from '../requests.js'
import { same } from '../same.js'

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
      same(
        given(outcome),
        [
          [2, 4],
          [7, 2],
        ],
        'granted and remaining of 9 and 6, after 2 and 1 + 3 used units',
      )
      same(taken([outcome as Outcome]), [true], 'the wait of every limit is 0 with force')
    },
  },
  {
    name: 'force: takes nothing from a limit without used units',
    async run(bench) {
      const set = bench.pair(9, 6)
      const [outcome] = await bench.consume(force([bench.used('a', set, [], [[3, 0]])]))
      same(
        given(outcome),
        [
          [0, 3],
          [9, 3],
        ],
        'granted and remaining of 9 and 6, after 0 and 3 used units',
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
        same(
          given(outcome),
          [[8], [0]],
          `${algorithm}: granted and remaining of 5, after 4 and then 8 by force`,
        )
        // Ten units left on a wider plan means that all twelve are remembered.
        const wider = bench.set(22, algorithm)
        same(
          await bench.left(algorithm, wider),
          [10],
          `${algorithm}: left of 22, after 12 were used on a quota of 5`,
        )
      }
    },
  },
  {
    name: 'force: takes from several keys',
    needs: ['atomic'],
    async run(bench) {
      const set = bench.set()
      const parts = [bench.used('a', set, [[2, 0]]), bench.used('b', bench.pair(5, 5), [[9, 0]], [[1, 0]])]
      const [outcome] = await bench.consume(force(parts))
      same(
        given(outcome),
        [
          [2, 9, 1],
          [3, 0, 4],
        ],
        'granted and remaining of 5 of a, and of 5 and 5 of b, after 2, 9 and 1',
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
      const once = [
        [2, 1],
        [7, 8],
      ]
      const thrice = [first, again, late].map(given)
      same(
        thrice,
        [once, once, once],
        'granted and remaining of 9 and 9, when a charge of 2 and 1 comes three times',
      )
      same(remainingOf(other as Outcome), [5, 7], 'left of 9 and 9 after a charge with another id')
    },
  },
]
