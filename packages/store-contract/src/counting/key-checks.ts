import type { Check } from '../bench.js'
import { all, remainingOf } from '../requests.js'
import { same } from '../same.js'

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
  'bob',
  'Bob',
  'bob ',
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
      const named = `of the keys ${JSON.stringify(keys)}`
      same((await bench.consume(...batch)).map(remainingOf), expected, `left of 5 ${named}`)
      same((await bench.peek(...batch)).map(remainingOf), expected, `left of 5, by a peek, ${named}`)
      await bench.reset(keys)
      const forgotten = keys.map(() => [5])
      same((await bench.peek(...batch)).map(remainingOf), forgotten, `left of 5 after a reset ${named}`)
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
      const asked =
        'of two keys of 400 characters that differ in the last one: 1 of the first, 2 of the second, 3 of the first'
      same(outcomes.map(remainingOf), [[4], [3], [1]], `left of 5 ${asked}`)
    },
  },
  {
    name: 'keys: every shard counts',
    async run(bench) {
      const shards = Math.min(bench.store.shards ?? 1, 16)
      for (let shard = 0; shard < shards; shard += 1) {
        const request = { ...all(bench.part(`in ${shard}`, 2)), shard }
        const told = (await bench.consume(request, request)).map(remainingOf)
        same(told, [[3], [1]], `shard ${shard}: left of 5 after cost 2, twice`)
        await bench.reset([bench.key(`in ${shard}`)], bench.set(), shard)
        same((await bench.peek(request)).map(remainingOf), [[5]], `shard ${shard}: left of 5 after a reset`)
      }
    },
  },
]
