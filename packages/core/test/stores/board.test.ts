// The board in Redis and its twin in memory keep and read the same notes.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore } from '../../src/index.js'
import type { Board, Note } from '../../src/stores/board.js'
import { closeBenches, sharedRedis } from '../support/benches.js'

afterAll(closeBenches)

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
const most = fc.constantFrom(1, 2, 3, 9)
const keptMs = fc.constantFrom(1000, 5000)
const act = fc.oneof(
  fc.record({
    notes: fc.array(fc.record({ id, text: fc.string() }), { minLength: 1, maxLength: 4 }),
    most,
    keptMs,
  }),
  fc.record({ sinceMs: fc.constantFrom(0, 1_770_000_001_000, 1_770_000_004_000), most, keptMs }),
  // Back, too.
  fc.record({ passMs: fc.constantFrom(1, 999, 1000, 4000, -2000) }),
)

test('random calls: both answer the same', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
      const clock = { now: 1_770_000_000_000 }
      const now = (): number => clock.now
      const boards = [memoryStore({ now }), redisStore(sharedRedis(), { prefix: testPrefix(), now })].map(
        ({ board }) => board as Board,
      )
      for (const one of acts) {
        if ('passMs' in one) {
          clock.now += one.passMs
          continue
        }
        const ask = (board: Board): unknown =>
          'notes' in one ? board.put('topic', distinct(one.notes), one) : board.read('topic', one)
        const [inMemory, inRedis] = await Promise.all(boards.map(ask))
        expect(inRedis).toEqual(inMemory)
      }
    }),
    { numRuns: cases(60, 600) },
  )
})

/** One call has each id once. */
function distinct(notes: readonly Note[]): Note[] {
  return notes.filter(({ id: own }, i) => notes.findIndex((other) => other.id === own) === i)
}

test('Redis keeps a topic no longer than its notes, and reads it if one of its keys is gone', async () => {
  const redis = sharedRedis()
  const prefix = testPrefix()
  const board = redisStore(redis, { prefix }).board as Board
  const terms = { keptMs: 60_000, most: 10 }
  const keys = ['!board.topic', '!board.times.topic'].map((key) => `${prefix}/${key}`) as [string, string]
  await board.put('topic', [{ id: 'a', text: 'first' }], terms)
  for (const key of keys) {
    const ttl = await redis.pttl(key)
    expect(ttl).toBeGreaterThan(0)
    expect(ttl).toBeLessThanOrEqual(60_000)
  }
  await redis.del(keys[0])
  expect(await board.read('topic', { ...terms, sinceMs: 0 })).toEqual([])
  await board.put('topic', [{ id: 'b', text: 'second' }], terms)
  await redis.del(keys[1])
  await board.put('topic', [{ id: 'c', text: 'third' }], terms)
  expect(await board.read('topic', { ...terms, sinceMs: 0 })).toEqual([{ id: 'c', text: 'third' }])
  expect(await redis.hlen(keys[0])).toBe(1)
})

test('a topic with many notes is read in parts, also while some of them are put again', async () => {
  const board = redisStore(sharedRedis(), { prefix: testPrefix() }).board as Board
  const terms = { keptMs: 60_000, most: 1300 }
  const ids = Array.from({ length: 1300 }, (_, i) => `n${i}`)
  await board.put(
    'topic',
    ids.map((one) => ({ id: one, text: one })),
    terms,
  )
  const newestFirst = await board.read('topic', { ...terms, sinceMs: 0 })
  expect(newestFirst.map((note) => note.id)).toEqual(ids.toReversed())
  const few = await board.read('topic', { ...terms, most: 700, sinceMs: 0 })
  expect(few.map((note) => note.id)).toEqual(ids.toReversed().slice(0, 700))

  // The oldest ones become the newest while they wait for their part.
  const reading = board.read('topic', { ...terms, sinceMs: 0 })
  for (let i = 0; i < 10; i += 1) await board.put('topic', [{ id: `n${i}`, text: 'again' }], terms)
  const read = await reading
  expect(read.map((note) => note.id).toSorted()).toEqual(ids.toSorted())
})
