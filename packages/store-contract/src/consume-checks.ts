import assert from 'node:assert/strict'
import { limitSetOf, type LimitOutcome, type Outcome } from '@tollgate/core/store'
import { all, isTaken, remainingOf, taken, type Check } from './bench.js'

export const consumeChecks: readonly Check[] = [
  {
    name: 'answers a batch in its order, each key on its own',
    async run(bench) {
      const [a, b] = [bench.part('a'), bench.part('b')]
      const outcomes = await bench.consume(all(a), all({ ...b, cost: 5 }), all({ ...a, cost: 2 }), all(b))
      assert.deepEqual(outcomes.map(remainingOf), [[4], [0], [2], [0]])
      assert.deepEqual(taken(outcomes), [true, true, true, false])
    },
  },
  {
    name: 'takes nothing for a request that does not fit, and then admits one that fits',
    async run(bench) {
      const outcomes = await bench.consume(...[4, 2, 1].map((cost) => all(bench.part('a', cost))))
      assert.deepEqual(outcomes.map(remainingOf), [[1], [1], [0]])
      assert.deepEqual(taken(outcomes), [true, false, true])
    },
  },
  {
    name: 'takes from all limits of a key or from none, and tells the wait of each',
    async run(bench) {
      const set = bench.pair(5, 2)
      const outcomes = await bench.consume(...[2, 1].map((cost) => all(bench.part('a', cost, set))))
      assert.deepEqual(outcomes.map(remainingOf), [
        [3, 0],
        [3, 0],
      ])
      assert.deepEqual(
        outcomes[1]?.limits.map(({ wait }) => wait === 0),
        [true, false],
      )
      assert.deepEqual(await bench.left('a', set), [3, 0])
    },
  },
  {
    name: 'says -1 for a cost that can never fit, and takes nothing',
    async run(bench) {
      const [outcome] = await bench.consume(all(bench.part('a', 6)))
      const { wait, remaining, reset } = (outcome as Outcome).limits[0] as LimitOutcome
      assert.deepEqual({ wait, remaining, reset }, { wait: -1, remaining: 5, reset: 0 })
      assert.deepEqual(await bench.left('a'), [5])
    },
  },
  {
    name: 'peeks without taking',
    async run(bench) {
      await bench.consume(all(bench.part('a', 2)))
      const peeked = await bench.peek(...[3, 3, 4].map((cost) => all(bench.part('a', cost))))
      assert.deepEqual(peeked.map(remainingOf), [[3], [3], [3]])
      assert.deepEqual(taken(peeked), [true, true, false])
      assert.deepEqual(taken(await bench.consume(all(bench.part('a', 3)))), [true])
    },
  },
  {
    name: 'remaining is exact: so many more requests pass, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(7, algorithm)
        const [first] = await bench.consume(all(bench.part(algorithm, 3, set)))
        const { remaining = 0 } = (first as Outcome).limits[0] ?? {}
        assert.equal(remaining, 4, algorithm)
        const more = await bench.consume(
          ...Array.from({ length: 5 }, () => all(bench.part(algorithm, 1, set))),
        )
        assert.deepEqual(taken(more), [true, true, true, true, false], algorithm)
        assert.ok((more[4] as Outcome).limits[0]!.wait > 0, `${algorithm} says how long it waits`)
      }
    },
  },
  {
    name: 'admits exactly the quota of many calls at once',
    async run(bench) {
      const set = limitSetOf(bench.limit(20))
      const calls = Array.from({ length: 25 }, () =>
        bench.consume(all(bench.part('a', 1, set)), all(bench.part('a', 1, set))),
      )
      const outcomes = (await Promise.all(calls)).flat()
      assert.equal(outcomes.filter(isTaken).length, 20)
      assert.deepEqual(await bench.left('a', set), [0])
    },
  },
  {
    name: 'takes from all keys of a request, or from none',
    needsAtomic: true,
    async run(bench) {
      const both = (cost: number) => all(bench.part('a', cost), bench.part('b', cost))
      const outcomes = await bench.consume(both(2), all(bench.part('b', 2)), both(2), all(bench.part('a', 3)))
      assert.deepEqual(outcomes.map(remainingOf), [[3, 3], [1], [3, 1], [0]])
      assert.deepEqual(taken(outcomes), [true, true, false, true])
      const [peeked] = await bench.peek(both(1))
      assert.deepEqual(
        peeked?.limits.map(({ wait }) => wait === 0),
        [false, true],
      )
    },
  },
  {
    name: 'takes from all keys of each request, or from none, with many calls at once',
    needsAtomic: true,
    async run(bench) {
      const [wide, narrow] = [bench.set(30), bench.set(10)]
      const calls = Array.from({ length: 30 }, (_, i) => {
        const parts = [bench.part('a', 1, wide), bench.part('b', 1, narrow)]
        return bench.consume(all(...(i % 2 === 0 ? parts : parts.toReversed())))
      })
      assert.equal((await Promise.all(calls)).flat().filter(isTaken).length, 10)
      assert.deepEqual([await bench.left('a', wide), await bench.left('b', narrow)], [[20], [0]])
    },
  },
]
