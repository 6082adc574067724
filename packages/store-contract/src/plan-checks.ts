import assert from 'node:assert/strict'
import { limitSetOf, type Outcome } from '@tollgate/core/store'
import { all, hasAnyWindow, remainingOf, taken, type Check } from './bench.js'

export const planChecks: readonly Check[] = [
  {
    name: 'plans: used units still count after the quota changes, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        await bench.consume(all(bench.part(algorithm, 3, bench.set(5, algorithm))))
        const [wider] = await bench.consume(all(bench.part(algorithm, 1, bench.set(9, algorithm))))
        assert.deepEqual(remainingOf(wider as Outcome), [5], algorithm)
        const [narrower] = await bench.consume(all(bench.part(algorithm, 1, bench.set(3, algorithm))))
        assert.deepEqual(
          [remainingOf(narrower as Outcome), taken([narrower as Outcome])],
          [[0], [false]],
          algorithm,
        )
        assert.deepEqual(await bench.left(algorithm, bench.set(9, algorithm)), [5], algorithm)
      }
    },
  },
  {
    name: 'plans: units used on one plan are remembered while many others are in use',
    async run(bench) {
      const [algorithm] = bench.algorithms.filter(hasAnyWindow)
      const lengths = Array.from({ length: algorithm ? 12 : 1 }, (_, i) => `${10 + i} h`)
      const sets = lengths.map((length) => limitSetOf(bench.limit(5, algorithm, length)))
      for (const set of sets) await bench.consume(all(bench.part('a', 2, set)))
      const left = []
      for (const set of sets) left.push(...(await bench.left('a', set)))
      assert.deepEqual(
        left,
        lengths.map(() => 3),
      )
    },
  },
  {
    name: 'plans: two limits with the same algorithm and window count apart',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = limitSetOf(bench.limit(9, algorithm), bench.limit(6, algorithm))
        const request = all(bench.part(algorithm, 2, set))
        const outcomes = await bench.consume(request, request, request, request)
        assert.deepEqual(
          outcomes.map(remainingOf),
          [
            [7, 4],
            [5, 2],
            [3, 0],
            [3, 0],
          ],
          algorithm,
        )
      }
    },
  },
]
