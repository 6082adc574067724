// Slots of long requests are renewed while they last, whatever else their subject is answered meanwhile.
import { eventually, testPrefix } from '@tollgate/testing'
import type * as timers from '../../../src/base/timers.js'
import { createLimiter, memoryStore, redisStore, type Store } from '../../../src/index.js'
import { SLOTS_KEPT_MS } from '../../../src/store.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'

let mockSkippedMs = 0
jest.mock('../../../src/base/timers.js', () => {
  const actual = jest.requireActual<typeof timers>('../../../src/base/timers.js')
  return { ...actual, elapsedMs: () => actual.elapsedMs() + mockSkippedMs }
})

afterAll(closeBenches)

/** How many declarations a store has got. */
function declarationsTo(store: Store): () => number {
  const consume = jest.spyOn(store, 'consume')
  return () =>
    consume.mock.calls.flatMap(([batch]) => batch).filter(({ grant }) => grant === 'declare').length
}

test.each<[where: string, makeStore: () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() })],
])('in %s a denied request does not pass for a renewal', async (_, makeStore) => {
  const store = makeStore()
  const declarations = declarationsTo(store)
  const limiter = createLimiter({ limit: '2 concurrent', store, deadlineMs: 10_000 })
  const held = [await limiter.consume('acme'), await limiter.consume('acme')]
  mockSkippedMs += 4000
  // As long as others are waiting for a slot.
  await eventually(async () => {
    expect((await limiter.consume('acme')).allowed).toBe(false)
    expect(declarations()).toBeGreaterThan(0)
  })
  for (const decision of held) decision.release()
  await limiter.close()
})

test('slots that the store dropped since their last renewal are told of, however short the process stood still', async () => {
  const store = memoryStore()
  const declarations = declarationsTo(store)
  const limiter = createLimiter({ limit: '2 concurrent', store })
  const told: number[] = []
  limiter.on('inFlight', ({ slots }) => told.push(slots))
  const first = await limiter.consume('first')
  mockSkippedMs += 3000
  const second = await limiter.consume('second')
  mockSkippedMs += 1600
  // Now the first one is renewed, and the second one need not be yet.
  await eventually(() => declarations() > 0)
  expect(told).toEqual([])
  mockSkippedMs += 12_500
  await eventually(() => told.length > 0)
  for (const decision of [first, second]) decision.release()
  await limiter.close()
})

test('a request that outlasts the store by far is renewed in time, again and again, and never passes for lost', async () => {
  const store = memoryStore()
  const declarations = declarationsTo(store)
  const limiter = createLimiter({ limit: '1 concurrent', store })
  const told: number[] = []
  limiter.on('inFlight', ({ slots }) => told.push(slots))
  const held = await limiter.consume('acme')
  for (let passedMs = 0; passedMs <= SLOTS_KEPT_MS; passedMs += 5000) {
    const before = declarations()
    mockSkippedMs += 5000
    await eventually(() => declarations() > before)
  }
  expect((await limiter.consume('acme')).allowed).toBe(false)
  expect(told).toEqual([])
  held.release()
  await limiter.close()
})
