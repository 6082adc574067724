import assert from 'node:assert/strict'
import { refundOf, type Outcome, type StoreRequest } from '@tollgate/core/store'
import { all, remainingOf, type Bench, type Check } from './bench.js'

async function take(bench: Bench, request: StoreRequest): Promise<Outcome> {
  const [outcome] = await bench.consume(request)
  return outcome as Outcome
}

export const refundChecks: readonly Check[] = [
  {
    name: 'refund: gives units back, never more than were used, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(5, algorithm)
        const request = all(bench.part(algorithm, 3, set))
        const outcome = await take(bench, request)
        assert.deepEqual(await bench.refund(refundOf(request, outcome, 2)), [true], algorithm)
        assert.deepEqual(await bench.left(algorithm, set), [4], algorithm)
        await bench.refund(refundOf(request, outcome, 9))
        assert.deepEqual(await bench.left(algorithm, set), [5], algorithm)
        assert.deepEqual(await bench.refund(refundOf(request, outcome, 1)), [false], algorithm)
      }
    },
  },
  {
    name: 'refund: gives each limit its own units',
    async run(bench) {
      const set = bench.pair(9, 6)
      const request = all(bench.part('a', 4, set))
      const outcome = await take(bench, request)
      assert.deepEqual(await bench.refund(refundOf(request, outcome, [1, 3])), [true])
      assert.deepEqual(await bench.left('a', set), [6, 5])
      assert.deepEqual(await bench.refund(refundOf(request, outcome, [2, 0])), [true])
      assert.deepEqual(await bench.left('a', set), [8, 5])
    },
  },
  {
    name: 'refund: does not revive a forgotten key, and answers a batch in its order',
    async run(bench) {
      const [a, b] = [all(bench.part('a', 2)), all(bench.part('b', 2))]
      const [ofA, ofB] = (await bench.consume(a, b)) as [Outcome, Outcome]
      await bench.reset([bench.key('a')])
      assert.deepEqual(await bench.refund(refundOf(a, ofA, 1), refundOf(b, ofB, 1)), [false, true])
      assert.deepEqual([await bench.left('a'), await bench.left('b')], [[5], [4]])
    },
  },
  {
    name: 'refund: gives several keys their own units back, even if one of them is forgotten',
    needsAtomic: true,
    async run(bench) {
      const set = bench.pair(5, 9)
      const request = all(bench.part('a', 3), bench.part('b', 3, set))
      const outcome = await take(bench, request)
      assert.deepEqual(await bench.refund(refundOf(request, outcome, [1, 2, 3])), [true])
      assert.deepEqual([await bench.left('a'), await bench.left('b', set)], [[3], [4, 9]])
      await bench.reset([bench.key('a')])
      assert.deepEqual(await bench.refund(refundOf(request, outcome, [2, 1, 0])), [true])
      assert.deepEqual([await bench.left('a'), await bench.left('b', set)], [[5], [5, 9]])
    },
  },
  {
    name: 'refund: an id counts once, and a repetition gets the answer of the first time',
    async run(bench) {
      const request = all(bench.part('a', 4))
      const outcome = await take(bench, request)
      const once = refundOf(request, outcome, 1, bench.id('x'))
      assert.deepEqual(await bench.refund(once, once), [true, true])
      assert.deepEqual(await Promise.all([bench.refund(once), bench.refund(once)]), [[true], [true]])
      assert.deepEqual(await bench.left('a'), [2])
      assert.deepEqual(await bench.refund(refundOf(request, outcome, 1, bench.id('y'))), [true])
      assert.deepEqual(await bench.left('a'), [3])
    },
  },
  {
    name: 'reset: forgets the given keys and no others, and says whether anything was there',
    async run(bench) {
      await bench.consume(...['a', 'b', 'c'].map((name) => all(bench.part(name, 2))))
      const [a, c] = [bench.key('a'), bench.key('c')]
      const told = [await bench.reset([a, c, bench.key('never seen')]), await bench.reset([a, c])]
      assert.deepEqual(told, [true, false], 'reset says whether anything was there')
      const outcomes = await bench.consume(...['a', 'b', 'c'].map((name) => all(bench.part(name))))
      assert.deepEqual(outcomes.map(remainingOf), [[4], [2], [4]])
    },
  },
]
