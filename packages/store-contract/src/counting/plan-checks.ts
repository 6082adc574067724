import { createLimitSet, type Outcome } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, hasAnyWindow, remainingOf, taken } from '../requests.js'
import { same } from '../same.js'

export const planChecks: readonly Check[] = [
  {
    name: 'plans: used units still count after the quota changes, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        await bench.consume(all(bench.part(algorithm, 3, bench.set(5, algorithm))))
        const [wider] = await bench.consume(all(bench.part(algorithm, 1, bench.set(9, algorithm))))
        same(
          remainingOf(wider as Outcome),
          [5],
          `${algorithm}: left of 9, after 3 on a quota of 5 and 1 on this`,
        )
        const [narrower] = await bench.consume(all(bench.part(algorithm, 1, bench.set(3, algorithm))))
        const told = [remainingOf(narrower as Outcome), taken([narrower as Outcome])]
        same(
          told,
          [[0], [false]],
          `${algorithm}: left of 3 and allowed, after 4 on other quotas of one state id`,
        )
        const left = await bench.left(algorithm, bench.set(9, algorithm))
        same(left, [5], `${algorithm}: left of 9 again, after a denial on the quota of 3`)
      }
    },
  },
  {
    name: 'plans: units used on one plan are remembered while many others are in use',
    async run(bench) {
      const [algorithm] = bench.algorithms.filter(hasAnyWindow)
      const lengths = Array.from({ length: algorithm ? 12 : 1 }, (_, i) => `${10 + i} h`)
      const sets = lengths.map((length) => createLimitSet(bench.limit(5, algorithm, length)))
      for (const set of sets) await bench.consume(all(bench.part('a', 2, set)))
      const left = []
      for (const set of sets) left.push(...(await bench.left('a', set)))
      const expected = lengths.map(() => 3)
      same(left, expected, `units left of 5 on ${sets.length} plans with other windows, after 2 on each`)
    },
  },
  {
    name: 'plans: two limits with the same algorithm and window count apart',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = createLimitSet(bench.limit(9, algorithm), bench.limit(6, algorithm))
        const request = all(bench.part(algorithm, 2, set))
        const outcomes = await bench.consume(request, request, request, request)
        const expected = [
          [7, 4],
          [5, 2],
          [3, 0],
          [3, 0],
        ]
        same(
          outcomes.map(remainingOf),
          expected,
          `${algorithm}: left of 9 and 6 units, with cost 2 each time`,
        )
      }
    },
  },
  {
    name: 'plans: used units count on in each of several buckets of one window, in any order',
    async run(bench) {
      if (!bench.algorithms.includes('token-bucket')) return
      const slow = { quota: 10, window: '10 h', burst: 9 }
      const fast = { quota: 20, window: '10 h', burst: 6 }
      const both = createLimitSet(slow, fast)
      await bench.consume(all(bench.part('a', 2, both)))
      await bench.consume(all(bench.part('a', 3, createLimitSet(slow))))
      same(await bench.left('a', both), [4, 1], 'left of 9 and 6, after 2 of both and 3 of the first alone')
      await bench.consume(all(bench.part('a', 1, both)))
      same(
        await bench.left('a', createLimitSet(fast, slow)),
        [0, 3],
        'left of 6 and 9, in another order, after 1 more',
      )
      const other = { ...fast, burst: 8 }
      same(
        await bench.left('a', createLimitSet(other, slow)),
        [2, 3],
        'left of 8 and 9, beside another burst',
      )
    },
  },
]
