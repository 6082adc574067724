// A look at a subject while the store does not answer: it says so, and a script can have it throw.
import { createLimiter, memoryStore, type StoreError } from '../../src/index.js'
import { failingStore } from '../../src/testing.js'
import { closesWithTest, endFaults } from '../support/faults.js'
import { start } from '../support/outage.js'
import { clusterStore, idsApart } from '../support/shards.js'
import { asyncStore } from '../support/stores.js'

afterEach(endFaults)

const THROW = { onStoreFailure: 'throw' } as const

async function errorOf(asked: () => unknown): Promise<StoreError> {
  try {
    await asked()
  } catch (error) {
    return error as StoreError
  }
  throw new Error('it did not throw')
}

test.each(['local', 'open', 'closed'] as const)(
  'under %s the decision says what answered, and onStoreFailure: throw gives the fault of the store in its place',
  async (policy) => {
    const { redis, limiter } = await start({ onStoreFailure: policy })
    expect(await limiter.peek('acme', THROW)).toMatchObject({ source: 'store', limits: [{ remaining: 20 }] })
    await redis.kill()
    expect(await limiter.peek('acme')).toMatchObject({ source: policy, limits: [] })
    // First it is asked, later it is not.
    for (let i = 0; i < 5; i += 1) {
      expect(await errorOf(() => limiter.peek('acme', THROW))).toMatchObject({
        name: 'StoreError',
        code: 'ERR_TOLLGATE_STORE',
        reason: 'unreachable',
      })
    }
    expect(limiter.health().status).toBe('degraded')
    await limiter.close()
    expect((await errorOf(() => limiter.peek('acme', THROW))).code).toBe('ERR_TOLLGATE_CLOSED')
  },
)

test('what is known without the store is told, and a scope has the option, too', async () => {
  const store = failingStore(memoryStore())
  store.down(new Error('gone'))
  const plans = { free: '5/min', staff: 'unlimited', banned: 'blocked' } as const
  const limiter = closesWithTest(createLimiter({ plans, store, warnings: false }))
  expect((await limiter.peek({ id: 'a', plan: 'staff' }, THROW)).source).toBe('unlimited')
  expect((await limiter.peek({ id: 'a', plan: 'banned' }, THROW)).source).toBe('blocked')
  const exports = limiter.scope({ group: 'exports' })
  expect((await errorOf(() => exports.peek({ id: 'a', plan: 'free' }, THROW))).message).toContain('gone')
})

test('one shard of several that fails is enough', async () => {
  const [here, there] = idsApart(2) as [string, string]
  const inner = memoryStore()
  const gone = new Set<number>()
  const store = clusterStore({
    peek: async (batch) => {
      if (gone.has(batch[0]?.shard ?? 0)) throw new Error('gone')
      gone.add(batch[0]?.shard ?? 0)
      return inner.peek(batch)
    },
  })
  const limiter = closesWithTest(createLimiter({ limit: '5/min', store, warnings: false }))
  await limiter.peek(there, THROW)
  expect((await errorOf(() => limiter.peek([here, there], THROW))).message).toContain('gone')
})

test('a store that answers with values throws at once, and memory never does', () => {
  const memory = createLimiter({ limit: '5/min' })
  expect(memory.peek('acme', THROW)).toMatchObject({ source: 'store' })
  const store = {
    ...asyncStore(),
    synchronous: true,
    peek: () => {
      throw new Error('full')
    },
  }
  const limiter = closesWithTest(createLimiter({ limit: '5/min', store: store as never, warnings: false }))
  expect(() => limiter.peek('acme', THROW)).toThrow('the store failed: full')
})

test('only peek has it, with this value', async () => {
  const limiter = createLimiter({ limit: '5/min' })
  expect(() => limiter.peek('acme', { onStoreFailure: 'open' as never })).toThrow(
    "onStoreFailure: got 'open', expected 'throw', or no option: the limiter's onStoreFailure then answers",
  )
  expect(() => limiter.consume('acme', THROW as never)).toThrow(
    'onStoreFailure: there is no such option here; pass it to createLimiter, or to peek',
  )
  expect(await limiter.peek('acme', { cost: 2, ...THROW })).toMatchObject({ cost: 2 })
})
