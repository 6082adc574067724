import assert from 'node:assert/strict'
import type { Outcome } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, given, grantedOf, isTaken, upTo } from '../requests.js'
import { same } from '../same.js'

export const upToChecks: readonly Check[] = [
  {
    name: 'upTo: gives the whole cost where it fits',
    async run(bench) {
      const [outcome] = await bench.consume(upTo(bench.part('a', 5)))
      same(given(outcome), [[5], [0]], 'granted and remaining after upTo 5 of 5')
      assert.ok(isTaken(outcome as Outcome), 'with upTo, the wait of a cost that fits is 0')
    },
  },
  {
    name: 'upTo: gives the same from every limit, as much as the fullest has left',
    async run(bench) {
      const set = bench.pair(9, 4)
      await bench.consume(all(bench.part('a', 1, set)))
      const [some, none] = await bench.consume(upTo(bench.part('a', 6, set)), upTo(bench.part('a', 6, set)))
      const expected = [
        [3, 3],
        [5, 0],
      ]
      same(given(some), expected, 'granted and remaining after upTo 6 of limits with 8 and 3 units left')
      assert.ok(!isTaken(some as Outcome), 'with upTo, a cost that does not fit as a whole has a wait')
      const nothing = [
        [0, 0],
        [5, 0],
      ]
      same(given(none), nothing, 'granted and remaining after upTo 6 of limits with 5 and 0 units left')
    },
  },
  {
    name: 'upTo: gives a part of a cost that can never fit, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const [outcome] = await bench.consume(upTo(bench.part(algorithm, 9, bench.set(5, algorithm))))
        same(grantedOf(outcome as Outcome), [5], `${algorithm}: granted after upTo 9 of 5`)
        same(
          outcome?.limits[0]?.wait,
          -1,
          `${algorithm}: wait after upTo 9 of 5, which can never fit as a whole`,
        )
      }
    },
  },
  {
    name: 'upTo: gives the same from every key',
    needs: ['atomic'],
    async run(bench) {
      await bench.consume(all(bench.part('b', 3)))
      const [outcome] = await bench.consume(upTo(bench.part('a', 4), bench.part('b', 4, bench.set())))
      const expected = [
        [2, 2],
        [3, 0],
      ]
      same(given(outcome), expected, 'granted and remaining after upTo 4 of keys with 5 and 2 units left')
    },
  },
]
