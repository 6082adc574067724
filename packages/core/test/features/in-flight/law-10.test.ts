// Law 10 with requests in flight: ids that look alike share no slot, in memory and on Redis.
import fc from 'fast-check'
import { cases, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Store } from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

const idPairs = fc.uniqueArray(
  fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 60 }),
    fc.constantFrom(
      'acme',
      'acme ',
      'ACME',
      '__proto__',
      'constructor',
      '\ud800',
      '\udbff',
      '{',
      '}',
      'é',
      'e\u0301',
    ),
    fc.integer({ min: 1, max: 3 }).map((n) => `${'x'.repeat(5000)}${n}`),
  ),
  { minLength: 2, maxLength: 8 },
)

test.each<[string, () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix() })],
])('on %s, each id has slots of its own, and gets its own back', async (_, makeStore) => {
  await fc.assert(
    fc.asyncProperty(idPairs, async (ids) => {
      const limiter = createLimiter({
        limit: '1 concurrent',
        store: makeStore(),
        deadlineMs: 10_000,
        onStoreFailure: 'closed',
        local: { instances: 1 },
      })
      const held = await Promise.all(ids.map((id) => limiter.consume(id)))
      expect(held.map(({ allowed }) => allowed)).toEqual(ids.map(() => true))
      const [first] = ids as [string]
      held[0]?.release()
      const again = await Promise.all(ids.map((id) => limiter.consume(id)))
      expect(again.map(({ allowed }) => allowed)).toEqual(ids.map((id) => id === first))
      for (const decision of [...held, ...again]) decision.release()
      await limiter.close()
    }),
    { numRuns: cases(20, 200) },
  )
})
