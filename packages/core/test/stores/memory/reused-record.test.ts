import { ask, one, part, refundPart, remainingOf, setOf, storeAt } from './support.js'

const BUCKET = setOf('100/h', { quota: 60, window: 'min', algorithm: 'token-bucket', burst: 10 })
const WINDOW = setOf('50/d', { quota: 7, window: 'min', algorithm: 'fixed-window' })

test('a limit in the record of another plan does not count on the state that was kept there', () => {
  const { store } = storeAt()
  const taken = part('acme', 5, BUCKET)
  const outcome = one(store, ask(taken))
  one(store, ask(part('acme', 1, BUCKET)))
  // After a refund of some units the bucket's state is kept as an object, in the second place.
  expect(store.refund([{ shard: 0, parts: [refundPart(taken, outcome, [0, 2])] }])).toEqual([true])
  // Both logs are kept as objects, so the list of those is used again. The window is kept as numbers.
  for (const left of [6, 5, 4]) {
    expect(remainingOf(one(store, ask(part('acme', 1, WINDOW))))).toEqual([43 + left, left])
  }
  expect(remainingOf(one(store, ask(part('acme', 1, BUCKET))))).toEqual([93, 5])
})
