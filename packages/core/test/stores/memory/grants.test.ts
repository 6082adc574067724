// What the memory store gives and takes back, on a test's clock.
import { ask, one, part, refundPart, remainingOf, setOf, storeAt, upTo } from './support.js'

const TWO = setOf(
  { quota: 5, window: 'min', algorithm: 'fixed-window' },
  { quota: 3, window: 'h', algorithm: 'token-bucket' },
)

test('all: from several keys it takes all or nothing, and tells the wait of each limit', () => {
  const { store } = storeAt()
  expect(remainingOf(one(store, ask(part('a', 2), part('b', 2))))).toEqual([3, 3])
  expect(remainingOf(one(store, ask(part('b', 2))))).toEqual([1])
  const denied = one(store, ask(part('a', 2), part('b', 2)))
  expect(denied.limits.map(({ wait }) => wait)).toEqual([0, 60_000_000])
  expect(remainingOf(denied)).toEqual([3, 1])
})

test('upTo: every limit of every part gives the same number, as much as the fullest has left', () => {
  const { store } = storeAt()
  one(store, ask(part('b', 1, TWO)))
  const outcome = one(store, upTo(part('a', 4), part('b', 4, TWO)))
  expect(outcome.limits.map(({ granted }) => granted)).toEqual([2, 2, 2])
  expect(remainingOf(outcome)).toEqual([3, 2, 0])
  expect(outcome.limits.map(({ wait }) => wait === 0)).toEqual([true, true, false])
})

test('upTo: a cost that fits is given whole without a wait; nothing is given when nothing is left', () => {
  const { store } = storeAt()
  expect(one(store, upTo(part('a', 5))).limits).toEqual([
    { wait: 0, remaining: 0, reset: 60_000_000, granted: 5 },
  ])
  expect(one(store, upTo(part('a', 5))).limits[0]).toMatchObject({ granted: 0, wait: 60_000_000 })
  expect(one(store, upTo(part('b', 9))).limits[0]).toMatchObject({ granted: 5, wait: -1 })
  expect(store.size).toBe(2)
})

test('a refund of several parts gives each limit its own units, once per id', () => {
  const { store } = storeAt()
  const parts = [part('a', 3), part('b', 3, TWO)] as const
  const outcome = one(store, ask(...parts))
  const limits = [outcome.limits.slice(0, 1), outcome.limits.slice(1)]
  const refund = {
    shard: 0,
    id: 'r1',
    parts: parts.map((each, i) =>
      refundPart(each, { at: outcome.at, limits: limits[i] ?? [] }, i === 0 ? [1] : [2, 3]),
    ),
  }
  expect(store.refund([refund, refund])).toEqual([true, true])
  expect(store.refund([{ ...refund, id: 'r2', parts: [refundPart(part('unseen'), outcome, [1])] }])).toEqual([
    false,
  ])
  const after = store.peek([ask(part('a'), part('b', 1, TWO))])
  expect(after.map(remainingOf)).toEqual([[3, 4, 3]])
})

test('a receipt of no units changes nothing, and does not change the age of the state', () => {
  const { store, clock } = storeAt()
  const set = setOf(
    { quota: 5, window: 'min', algorithm: 'sliding-log' },
    { quota: 9, window: 'min', algorithm: 'fixed-window' },
  )
  const first = one(store, ask(part('a', 2, set)))
  clock.now += 30_000
  expect(store.refund([{ shard: 0, parts: [refundPart(part('a', 2, set), first, [0, 0])] }])).toEqual([false])
  clock.now += 30_000
  expect(remainingOf(one(store, ask(part('a', 1, set))))).toEqual([4, 8])
})

test('reset forgets all given keys', () => {
  const { store } = storeAt()
  store.consume([ask(part('a')), ask(part('b')), ask(part('c'))])
  store.reset(['a', 'c', 'unseen'])
  expect(store.peek([ask(part('a')), ask(part('b')), ask(part('c'))]).map(remainingOf)).toEqual([
    [5],
    [4],
    [5],
  ])
})

test('units used on other plans count as long as they can, however many plans there are', () => {
  const { store } = storeAt()
  const sets = Array.from({ length: 40 }, (_, i) => setOf({ quota: 5, window: 60_000 + 1000 * i }))
  for (const set of sets) one(store, ask(part('a', 1, set)))
  expect(sets.map((set) => remainingOf(store.peek([ask(part('a', 1, set))])[0]!)[0])).toEqual(
    sets.map(() => 4),
  )
})
