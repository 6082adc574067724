// The store's answers to messages that only tell of slots are answers, and no faults of the store.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore } from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'

afterAll(closeBenches)

test.each([
  ['memory', () => memoryStore(), '9 concurrent'],
  ['memory', () => memoryStore(), ['100/min', '9 concurrent']],
  ['Redis', () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() }), '9 concurrent'],
  ['Redis', () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() }), ['100/min', '9 concurrent']],
] as const)('in %s: %#', async (_, makeStore, limit) => {
  const limiter = createLimiter({ limit, store: makeStore(), deadlineMs: 10_000 })
  const reader = jest.fn()
  limiter.on('storeError', reader)
  const held = [await limiter.consume('acme'), await limiter.consume('acme'), await limiter.consume('acme')]
  for (const decision of held) expect([decision.release(), decision.release()]).toEqual([true, false])
  await eventually(async () => expect((await limiter.peek('acme')).limits.at(-1)?.remaining).toBe(9))
  await limiter.reset('acme')
  await limiter.close()
  expect([limiter.stats().storeErrors, reader.mock.calls]).toEqual([0, []])
})
