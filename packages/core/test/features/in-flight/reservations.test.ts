// A reservation on a plan that limits requests in flight holds a slot, too.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Limiter } from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'

const acme = { id: 'acme', plan: 'pro' }
const plans = { pro: ['100/min', '2 concurrent'] } as const
const limiters: Limiter[] = []

afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(closeBenches)

const stores = {
  memory: memoryStore,
  Redis: () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() }),
}

describe.each(Object.entries(stores))('on %s', (_, makeStore) => {
  function made(): Limiter {
    const limiter = createLimiter({ plans, store: makeStore(), deadlineMs: 10_000, onStoreFailure: 'closed' })
    limiters.push(limiter)
    return limiter
  }
  const left = async (limiter: Limiter): Promise<(number | undefined)[]> =>
    (await limiter.peek(acme)).limits.map(({ remaining }) => remaining)

  test('until it is committed or cancelled', async () => {
    const limiter = made()
    const one = await limiter.reserve(acme, { cost: 40, for: '1min' })
    const two = await limiter.reserve(acme, { cost: 40, for: '1min' })
    expect([one.allowed, two.allowed, await left(limiter)]).toEqual([true, true, [20, 0]])
    expect((await limiter.reserve(acme, { cost: 1, for: '1min' })).decision.violated).toEqual(['concurrent'])
    expect(await one.commit(10)).toBe(10)
    await eventually(async () => expect(await left(limiter)).toEqual([50, 1]))
    expect(await two.cancel()).toBe(true)
    await eventually(async () => expect(await left(limiter)).toEqual([90, 2]))
    expect(limiter.stats().inFlight).toBe(0)
  })

  test('no longer than it holds its units, if nobody ends it', async () => {
    const limiter = made()
    await limiter.reserve(acme, { cost: 40, for: 100 })
    expect(limiter.stats().inFlight).toBe(1)
    await eventually(async () => expect(await left(limiter)).toEqual([100, 2]))
    expect(limiter.stats().inFlight).toBe(0)
  })

  test('one that is denied takes no slot', async () => {
    const limiter = made()
    await limiter.reserve(acme, { cost: 100, for: '1min' })
    expect((await limiter.reserve(acme, { cost: 1, for: '1min' })).allowed).toBe(false)
    expect(await left(limiter)).toEqual([0, 1])
  })
})
