import assert from 'node:assert/strict'
import { all, remainingOf, type Check } from './bench.js'

/** Core never sends such keys, but they must not break a store. */
const HOSTILE = [
  '__proto__',
  'constructor',
  'toString',
  ' ',
  'a b',
  'a\nb',
  'a\r\nSET x 1',
  'a\0b',
  '{a}',
  '\u00e9',
  'e\u0301',
  '*',
  '%00',
]

/** The longest key that core sends, in characters. */
const LONGEST = 400

export const keyChecks: readonly Check[] = [
  {
    name: 'keys: each key counts alone, whatever its characters',
    async run(bench) {
      const keys = [...HOSTILE, ...HOSTILE.map((key) => bench.key(key))]
      await bench.reset(keys)
      const set = bench.set()
      const batch = keys.map((key, i) => all({ key, set, cost: 1 + (i % 5) }))
      const expected = keys.map((_, i) => [4 - (i % 5)])
      assert.deepEqual((await bench.consume(...batch)).map(remainingOf), expected)
      assert.deepEqual((await bench.peek(...batch)).map(remainingOf), expected)
      await bench.reset(keys)
      assert.deepEqual(
        (await bench.peek(...batch)).map(remainingOf),
        keys.map(() => [5]),
      )
    },
  },
  {
    name: 'keys: long keys that differ only at the end count apart',
    async run(bench) {
      const long = 'x'.repeat(LONGEST - bench.key('').length - 1)
      const outcomes = await bench.consume(
        all(bench.part(`${long}1`, 1)),
        all(bench.part(`${long}2`, 2)),
        all(bench.part(`${long}1`, 3)),
      )
      assert.deepEqual(outcomes.map(remainingOf), [[4], [3], [1]])
    },
  },
  {
    name: 'keys: every shard counts',
    async run(bench) {
      const shards = Math.min(bench.store.shards ?? 1, 16)
      for (let shard = 0; shard < shards; shard += 1) {
        const request = { ...all(bench.part(`in ${shard}`, 2)), shard }
        assert.deepEqual((await bench.consume(request, request)).map(remainingOf), [[3], [1]])
        await bench.reset([bench.key(`in ${shard}`)], bench.set(), shard)
        assert.deepEqual((await bench.peek(request)).map(remainingOf), [[5]])
      }
    },
  },
]
