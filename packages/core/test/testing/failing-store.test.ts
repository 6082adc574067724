// The store that fails on command, by itself.
import { Clocks, storeContract, testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore, StoreError, type Store } from '../../src/index.js'
import { createLimitSet, type Outcome, type StoreListener, type StoreRequest } from '../../src/store.js'
import { failingStore, testClock } from '../../src/testing.js'
import { closeBenches, sharedRedis } from '../support/benches.js'

afterAll(closeBenches)

const { make, passTime } = new Clocks()
storeContract('a failing store without a fault', () => make((now) => failingStore(memoryStore({ now }))), {
  passTime,
})

const set = createLimitSet('9/min')
const request = (key: string, shard = 0): StoreRequest => ({
  shard,
  grant: 'all',
  parts: [{ key, set, cost: 1 }],
})
/** The units left after one more was taken. */
const take = async (store: Store, key = 'acme', shard = 0): Promise<number | undefined> => {
  const [answer] = await store.consume([request(key, shard)])
  return (answer as Outcome).limits[0]?.remaining
}
const left = async (store: Store): Promise<number | undefined> => {
  const [answer] = await store.peek([request('acme')])
  return (answer as Outcome).limits[0]?.remaining
}

test('it has the abilities of the store, but answers with promises', () => {
  const clock = testClock()
  const inner = {
    ...clock.memoryStore(),
    ...{ shards: 4, largestQuota: 5, algorithms: ['sliding-log'] as const },
  }
  const memory = clock.memoryStore()
  const store = failingStore(memory)
  expect(store).toMatchObject({ atomic: true, leases: true, slots: true, holds: true, clock: 'process' })
  expect([store.synchronous, store.space, store.testClock]).toEqual([false, memory, clock.now])
  expect('largestQuota' in store).toBe(false)
  for (const name of ['consume', 'peek', 'refund', 'reset'] as const)
    Object.assign(inner, { [name]: memory[name].bind(memory) })
  expect(failingStore(inner)).toMatchObject({ shards: 4, largestQuota: 5, algorithms: ['sliding-log'] })
  const redis = redisStore(sharedRedis(), { prefix: testPrefix() })
  expect(failingStore(redis).space).toBe(redis.space)
})

test('down: each call fails, and nothing is done', async () => {
  const inner = memoryStore()
  const store = failingStore(inner)
  store.down()
  await expect(take(store)).rejects.toThrow(
    expect.objectContaining({ name: 'StoreError', reason: 'unreachable' }),
  )
  const error = new StoreError('no memory', { reason: 'out-of-memory' })
  store.down(error)
  for (const call of [
    () => take(store),
    () => left(store),
    () => store.refund([{ shard: 0, parts: [] }]),
    () => store.reset(['acme'], 0),
  ]) {
    await expect((async () => call())()).rejects.toBe(error)
  }
  store.heal()
  expect(await left(store)).toBe(9)
})

test('hang: it gets to the calls, in order, when it goes on; or they fail when it crashes', async () => {
  const store = failingStore(memoryStore())
  store.hang()
  const answers: unknown[] = []
  const asked = ['a', 'a', 'b'].map(async (key) => answers.push(await take(store, key)))
  await new Promise(setImmediate)
  expect(answers).toEqual([])
  store.heal()
  await Promise.all(asked)
  expect(answers).toEqual([8, 7, 8])

  store.hang()
  const lost = take(store, 'a')
  store.hang()
  store.down()
  await expect(lost).rejects.toThrow('the store is down')
  store.heal()
  expect(await take(store, 'a')).toBe(6)
})

test('slow: it decides at once, and replies later', async () => {
  const inner = memoryStore()
  const store = failingStore(inner)
  store.slow(60)
  const asked = performance.now()
  const reply = take(store)
  await new Promise(setImmediate)
  expect(await left({ ...store, peek: (batch) => inner.peek(batch) })).toBe(8)
  expect(await reply).toBe(8)
  // A timer of Node may fire a millisecond early.
  expect(performance.now() - asked).toBeGreaterThanOrEqual(59)
})

test('lose replies: the work is done, and the call fails; after so many, the store is well', async () => {
  const store = failingStore(memoryStore())
  store.loseReplies(2)
  const lost = [take(store), take(store)]
  for (const one of lost) await expect(one).rejects.toThrow('the connection was lost before the reply')
  expect(await take(store)).toBe(6)
  store.loseReplies()
  for (let i = 0; i < 3; i += 1) await expect(take(store)).rejects.toThrow('before the reply')
  store.heal()
  expect(await left(store)).toBe(3)
})

test('fail over: it forgets everything, keeps its fault, and goes on reporting to its listeners', async () => {
  const made: (Store & { told?: StoreListener | undefined; closed?: boolean })[] = []
  const store = failingStore(() => {
    const memory = memoryStore()
    const one: (typeof made)[number] = {
      ...{ synchronous: true, consume: memory.consume.bind(memory), peek: memory.peek.bind(memory) },
      ...{ refund: memory.refund.bind(memory), reset: memory.reset.bind(memory) },
      observe(listener) {
        one.told = listener
        return () => void (one.told = undefined)
      },
      close: () => void (one.closed = true),
    }
    made.push(one)
    return one
  })
  const { space } = store
  const listener = { onEvicted: () => {}, onUnreached: () => {} }
  const stop = store.observe?.(listener)
  await take(store)
  store.slow(0)
  store.failOver()
  expect([made.length, store.space, made[0]?.told, made[1]?.told]).toEqual([2, space, undefined, listener])
  expect(await take(store)).toBe(8)
  stop?.()
  expect(made[1]?.told).toBeUndefined()
  await store.close?.()
  expect(made.map(({ closed }) => closed)).toEqual([undefined, true])
})

test('one shard can fail alone, and all together', async () => {
  const memory = memoryStore()
  const inner: Store = {
    ...{ synchronous: true, shards: 3, consume: memory.consume.bind(memory), peek: memory.peek.bind(memory) },
    ...{ refund: memory.refund.bind(memory), reset: memory.reset.bind(memory) },
  }
  const store = failingStore(inner)
  store.shard(1).down()
  expect(await take(store, 'a', 0)).toBe(8)
  await expect(take(store, 'b', 1)).rejects.toThrow('down')
  await expect(store.reset(['b'], 1)).rejects.toThrow('down')
  store.down()
  store.shard(2).heal()
  await expect(take(store, 'a', 0)).rejects.toThrow('down')
  expect(await take(store, 'c', 2)).toBe(8)
  store.heal()
  expect([await take(store, 'a', 0), await take(store, 'b', 1)]).toEqual([7, 8])
  for (const wrong of [3, -1, '1', undefined])
    expect(() => store.shard(wrong as never)).toThrow(
      'expected a whole number from 0 to 2, since the store has 3',
    )
})

test.each<[message: string, run: (store: ReturnType<typeof failingStore>) => void]>([
  ['slow: got -1, expected a whole number of ms from 0 to 60000, such as 500', (store) => store.slow(-1)],
  ['slow: got undefined, expected a whole number of ms', (store) => store.slow(undefined as never)],
  ["down: got 'no', expected an Error: new Error('disk full')", (store) => store.down('no' as never)],
  ['loseReplies: got 0, expected a whole number from 1, such as 3', (store) => store.loseReplies(0)],
  [
    'failOver: the store that takes over has to be made; give failingStore a function',
    (store) => store.failOver(),
  ],
])('%s', (message, run) => {
  expect(() => run(failingStore(memoryStore()))).toThrow(
    expect.objectContaining({
      code: 'ERR_TOLLGATE_CONFIG',
      message: expect.stringContaining(message),
    }),
  )
})

test('what is no store is refused', () => {
  expect(() => failingStore({} as never)).toThrow('store: got an empty object')
  expect(() => failingStore((() => undefined) as never)).toThrow('store: got undefined')
  expect(() => failingStore(sharedRedis() as never)).toThrow('got a Redis client')
})
