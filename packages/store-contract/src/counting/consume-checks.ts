import assert from 'node:assert/strict'
import { type LimitOutcome, type Outcome } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, remainingOf, taken } from '../requests.js'
import { same } from '../same.js'

export const consumeChecks: readonly Check[] = [
  {
    name: 'answers a batch in its order, each key on its own',
    async run(bench) {
      const [a, b] = [bench.part('a'), bench.part('b')]
      const outcomes = await bench.consume(all(a), all({ ...b, cost: 5 }), all({ ...a, cost: 2 }), all(b))
      const asked = 'a batch of cost 1 for a, 5 for b, 2 for a and 1 for b, with a quota of 5'
      same(outcomes.map(remainingOf), [[4], [0], [2], [0]], `units left, in the order of ${asked}`)
      same(taken(outcomes), [true, true, true, false], `allowed, in the order of ${asked}`)
    },
  },
  {
    name: 'takes nothing for a request that does not fit, and then admits one that fits',
    async run(bench) {
      const outcomes = await bench.consume(...[4, 2, 1].map((cost) => all(bench.part('a', cost))))
      same(outcomes.map(remainingOf), [[1], [1], [0]], 'units left after costs 4, 2 and 1 of a quota of 5')
      same(taken(outcomes), [true, false, true], 'costs 4, 2 and 1 of a quota of 5 allowed')
    },
  },
  {
    name: 'takes from all limits of a key or from none, and returns the wait of each',
    async run(bench) {
      const set = bench.pair(5, 2)
      const outcomes = await bench.consume(...[2, 1].map((cost) => all(bench.part('a', cost, set))))
      const left = [
        [3, 0],
        [3, 0],
      ]
      same(outcomes.map(remainingOf), left, 'units left of quotas 5 and 2 after cost 2, and then 1')
      const fits = outcomes[1]?.limits.map(({ wait }) => wait === 0)
      same(
        fits,
        [true, false],
        'whether each limit, asked alone, has no wait for a cost that only the other lacks',
      )
      same(await bench.left('a', set), [3, 0], 'units left by peek after the request that was denied')
    },
  },
  {
    name: 'says -1 for a cost that can never fit, and takes nothing',
    async run(bench) {
      const [outcome] = await bench.consume(all(bench.part('a', 6)))
      const { wait, remaining, reset } = (outcome as Outcome).limits[0] as LimitOutcome
      same({ wait, remaining, reset }, { wait: -1, remaining: 5, reset: 0 }, 'a cost of 6 with a quota of 5')
      same(await bench.left('a'), [5], 'units left after a cost that can never fit')
    },
  },
  {
    name: 'peeks without taking',
    async run(bench) {
      await bench.consume(all(bench.part('a', 2)))
      const peeked = await bench.peek(...[3, 3, 4].map((cost) => all(bench.part('a', cost))))
      same(peeked.map(remainingOf), [[3], [3], [3]], 'units left by three peeks, after 2 of 5 were taken')
      same(taken(peeked), [true, true, false], 'costs 3, 3 and 4 would be allowed, by peek, with 3 left')
      same(
        taken(await bench.consume(all(bench.part('a', 3)))),
        [true],
        'the 3 units left are there after peeks',
      )
    },
  },
  {
    name: 'remaining is exact: so many more requests pass, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(7, algorithm)
        const [first] = await bench.consume(all(bench.part(algorithm, 3, set)))
        same(remainingOf(first as Outcome), [4], `${algorithm}: units left after 3 of 7`)
        const more = await bench.consume(
          ...Array.from({ length: 5 }, () => all(bench.part(algorithm, 1, set))),
        )
        same(
          taken(more),
          [true, true, true, true, false],
          `${algorithm}: 5 requests allowed with 4 units left`,
        )
        const { wait } = (more[4] as Outcome).limits[0] as LimitOutcome
        assert.ok(wait > 0, `${algorithm}: a denied request says how long it waits, in µs; it said ${wait}`)
      }
    },
  },
  {
    name: 'takes from all keys of a request, or from none',
    needs: ['atomic'],
    async run(bench) {
      const both = (cost: number) => all(bench.part('a', cost), bench.part('b', cost))
      const outcomes = await bench.consume(both(2), all(bench.part('b', 2)), both(2), all(bench.part('a', 3)))
      const asked = 'cost 2 of keys a and b, 2 of b, 2 of both and 3 of a, with a quota of 5 each'
      same(outcomes.map(remainingOf), [[3, 3], [1], [3, 1], [0]], `units left after ${asked}`)
      same(taken(outcomes), [true, true, false, true], `allowed: ${asked}`)
      const [peeked] = await bench.peek(both(1))
      const fits = peeked?.limits.map(({ wait }) => wait === 0)
      same(fits, [false, true], 'whether the limit of each key has no wait, when only b has room')
    },
  },
]
