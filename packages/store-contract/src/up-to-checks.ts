import assert from 'node:assert/strict'
import type { Outcome } from '@tollgate/core/store'
import { all, grantedOf, isTaken, remainingOf, upTo, type Check } from './bench.js'

export const upToChecks: readonly Check[] = [
  {
    name: 'upTo: gives the whole cost where it fits',
    async run(bench) {
      const [outcome] = await bench.consume(upTo(bench.part('a', 5)))
      assert.deepEqual([grantedOf(outcome as Outcome), remainingOf(outcome as Outcome)], [[5], [0]])
      assert.ok(isTaken(outcome as Outcome), 'a cost that fits waits for nothing')
    },
  },
  {
    name: 'upTo: gives the same from every limit, as much as the fullest has left',
    async run(bench) {
      const set = bench.pair(9, 4)
      await bench.consume(all(bench.part('a', 1, set)))
      const [some, none] = await bench.consume(upTo(bench.part('a', 6, set)), upTo(bench.part('a', 6, set)))
      assert.deepEqual(
        [grantedOf(some as Outcome), remainingOf(some as Outcome)],
        [
          [3, 3],
          [5, 0],
        ],
      )
      assert.ok(!isTaken(some as Outcome), 'a cost that does not fit waits')
      assert.deepEqual(
        [grantedOf(none as Outcome), remainingOf(none as Outcome)],
        [
          [0, 0],
          [5, 0],
        ],
      )
    },
  },
  {
    name: 'upTo: gives a part of a cost that can never fit, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const [outcome] = await bench.consume(upTo(bench.part(algorithm, 9, bench.set(5, algorithm))))
        assert.deepEqual(grantedOf(outcome as Outcome), [5], algorithm)
        assert.equal(outcome?.limits[0]?.wait, -1, algorithm)
      }
    },
  },
  {
    name: 'upTo: many calls at once get exactly the quota together',
    async run(bench) {
      const set = bench.set(50)
      const calls = Array.from({ length: 12 }, () => bench.consume(upTo(bench.part('a', 7, set))))
      const granted = (await Promise.all(calls)).flat().map((outcome) => outcome.limits[0]?.granted ?? 0)
      assert.equal(
        granted.reduce((sum, units) => sum + units),
        50,
      )
      assert.deepEqual(await bench.left('a', set), [0])
    },
  },
  {
    name: 'upTo: gives the same from every key',
    needsAtomic: true,
    async run(bench) {
      await bench.consume(all(bench.part('b', 3)))
      const [outcome] = await bench.consume(upTo(bench.part('a', 4), bench.part('b', 4, bench.set())))
      assert.deepEqual(
        [grantedOf(outcome as Outcome), remainingOf(outcome as Outcome)],
        [
          [2, 2],
          [3, 0],
        ],
      )
    },
  },
]
