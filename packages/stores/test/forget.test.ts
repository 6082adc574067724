// Memcached cannot list what it has of a subject: it has to be told the limits that shall be forgotten.
import { createLimiter, type Limiter, type LimiterOptions, type Store, type Subject } from '@tollgate/core'
import { memcachedStore } from '@tollgate/memcached'
import { tollgateStore } from '@tollgate/stores/express-rate-limit'
import { startMemcached, testPrefix, type MemcachedServer } from '@tollgate/testing'

let memcached: MemcachedServer
let limiter: Limiter
beforeAll(async () => {
  memcached = await startMemcached()
})
afterEach(() => limiter.close())
afterAll(() => memcached.stop())

const newStore = (): Store => memcachedStore(memcached.address, { prefix: testPrefix() })
const newLimiter = (options: LimiterOptions): Limiter =>
  createLimiter({ ...options, store: newStore(), deadlineMs: 10_000 })
const used = async (subject: Subject): Promise<number[]> =>
  (await limiter.peek(subject)).limits.map((limit) => limit.used)

test('limits that a subject brings are forgotten, if it brings them again', async () => {
  limiter = newLimiter({ limit: '5/min' })
  const subject = { id: 'acme', limits: ['3/h', '10/day'] }
  await limiter.consume(subject)
  expect(await used(subject)).toEqual([1, 1])
  expect([await limiter.reset(subject), await limiter.reset(subject)]).toEqual([true, false])
  expect(await used(subject)).toEqual([0, 0])
  expect((await limiter.consume({ id: 'acme' })).allowed).toBe(true)
  await limiter.reset(subject)
  expect(await used({ id: 'acme' })).toEqual([0])
})

test('limits that planOf gave are forgotten', async () => {
  const planOf = async (): Promise<{ limits: string }> => ({ limits: '3/h' })
  limiter = newLimiter({ plans: { free: '5/min' }, defaultPlan: 'free', planOf } as LimiterOptions)
  await limiter.consume('acme')
  expect([await limiter.reset('acme'), await limiter.reset('acme')]).toEqual([true, false])
  expect(await used({ id: 'acme' })).toEqual([0])
})

test('limits that are wrong are refused', async () => {
  limiter = newLimiter({ limit: '5/min' })
  await expect(limiter.reset({ id: 'acme', limits: '3/fortnight' })).rejects.toMatchObject({
    code: 'ERR_TOLLGATE_SUBJECT',
    message: expect.stringContaining("subject.limits: got '3/fortnight'"),
  })
})

test('resetKey of express-rate-limit forgets the hits', async () => {
  const store = tollgateStore(newStore(), { deadlineMs: 10_000 })
  ;({ limiter } = store)
  store.init({ windowMs: 7_200_000, limit: 2 })
  for (const hits of [1, 2, 3]) expect((await store.increment('acme')).totalHits).toBe(hits)
  await store.resetKey('acme')
  expect(await store.get('acme')).toBeUndefined()
  expect((await store.increment('acme')).totalHits).toBe(1)
})
