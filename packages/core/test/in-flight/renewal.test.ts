// Slots of long requests are renewed while they last, whatever else their subject is answered meanwhile.
import { eventually, testPrefix } from '@tollgate/testing'
import type * as timers from '../../src/base/timers.js'
import { createLimiter, memoryStore, redisStore, type Store } from '../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../support/benches.js'

let mockSkippedMs = 0
jest.mock('../../src/base/timers.js', () => {
  const actual = jest.requireActual<typeof timers>('../../src/base/timers.js')
  return { ...actual, elapsedMs: () => actual.elapsedMs() + mockSkippedMs }
})

afterAll(closeBenches)

test.each<[where: string, makeStore: () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() })],
])('in %s a denied request does not pass for a renewal', async (_, makeStore) => {
  const store = makeStore()
  const consume = jest.spyOn(store, 'consume')
  const declarations = (): number =>
    consume.mock.calls.flatMap(([batch]) => batch).filter(({ grant }) => grant === 'declare').length
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
  const consume = jest.spyOn(store, 'consume')
  const limiter = createLimiter({ limit: '2 concurrent', store })
  const told: number[] = []
  limiter.on('inFlight', ({ slots }) => told.push(slots))
  const isDeclared = (): boolean => consume.mock.calls.flatMap(([batch]) => batch).some(({ grant }) => grant === 'declare')
  const first = await limiter.consume('first')
  mockSkippedMs += 3000
  const second = await limiter.consume('second')
  mockSkippedMs += 1600
  // Now the first one is renewed, and the second one need not be yet.
  await eventually(isDeclared)
  expect(told).toEqual([])
  mockSkippedMs += 12_500
  await eventually(() => told.length > 0)
  for (const decision of [first, second]) decision.release()
  await limiter.close()
})
