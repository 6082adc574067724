// Requests that were let in, and that a route then asks more for: what it takes of the store, and by which plans.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Store,
} from '../../src/index.js'
import { acme, amend, inMemory, left, onRedis, type Route } from '../support/amend.js'
import { closeBenches } from '../support/benches.js'
import { closesWithTest, connect, DEADLINE_MS, endFaults, server } from '../support/faults.js'
import { comesToStay, start } from '../support/outage.js'
import { asyncStore } from '../support/stores.js'

afterEach(endFaults)
afterAll(closeBenches)

describe('trips to the store', () => {
  const trips: string[] = []
  const counted = (inner = memoryStore()): Store =>
    asyncStore(
      {
        consume: async (batch) => {
          trips.push(...batch.map(({ parts }) => `take ${parts.map(({ cost }) => cost).join(' and ')}`))
          return inner.consume(batch)
        },
        refund: async (batch) => {
          trips.push(...batch.map(({ parts }) => `give ${parts[0]?.receipts[0]?.units}`))
          return inner.refund(batch)
        },
      },
      inner,
    )

  test.each<[string, Route, string[]]>([
    ['none for what was taken already', {}, []],
    ['one for what is missing to the cost', { cost: 10 }, ['take 9']],
    ['one for a limit on top', { stacked: { export: '5/min' } }, ['take 1']],
    ['one for both, of different costs', { cost: 4, stacked: { export: '5/min' } }, ['take 3 and 4']],
    ['two in another group, which do not wait for each other', { group: 'search' }, ['give 1', 'take 1']],
    ['two where no more is left', { cost: 20 }, ['give 1', 'take 20']],
    ['two for a cost above the quota', { cost: 31 }, ['give 1', 'take 31']],
    [
      'three where the limit on top denies',
      { stacked: { export: '5/min' }, cost: 6 },
      ['give 1', 'take 6 and 6'],
    ],
  ])('%s', async (_, route, expected) => {
    const limiter = createLimiter({ limit: '30/min', store: counted() })
    await limiter.consume(acme, { cost: 15 })
    const first = await limiter.consume(acme)
    trips.length = 0
    await amend(limiter, first, route)
    expect(trips).toEqual(expected)
  })

  test('a denial of what is missing is one of all: the rest goes back first', async () => {
    const limiter = createLimiter({ limit: '30/min', store: counted() })
    const first = await limiter.consume(acme)
    await limiter.consume(acme, { cost: 25 })
    trips.length = 0
    const decision = await amend(limiter, first, { cost: 7 })
    expect(trips).toEqual(['take 6', 'give 1', 'take 7'])
    expect(decision).toMatchObject({ allowed: false, cost: 7, violated: ['minute'] })
    expect(await left(limiter)).toEqual([5])
  })

  test('a request that takes the only slot asks for what is missing, too', async () => {
    const limiter = createLimiter({ limit: ['30/min', '1 concurrent'], store: counted() })
    const first = await limiter.consume(acme)
    trips.length = 0
    expect((await amend(limiter, first, { cost: 7 })).limits).toMatchObject([
      { remaining: 23 },
      { remaining: 0 },
    ])
    expect(trips).toEqual(['take 6'])
  })

  test('a route within a route asks only for what it adds', async () => {
    const limiter = createLimiter({ limit: '30/min', store: counted() })
    const first = await limiter.consume(acme)
    const outer = await amend(limiter, first, { cost: 5 })
    trips.length = 0
    expect(await amend(limiter, outer, { cost: 5 })).toBe(outer)
    const inner = await amend(limiter, outer, { cost: 8 })
    expect(trips).toEqual(['take 3'])
    expect(await left(limiter)).toEqual([22])
    await limiter.refund(inner)
    expect([await left(limiter), await limiter.refund(outer), await limiter.refund(first)]).toEqual([
      [30],
      false,
      false,
    ])
  })
})

describe.each([
  ['memory', inMemory],
  ['Redis', onRedis],
])('what a request was let in by, on %s', (_, limiterOf) => {
  test('a plan without limits: only what the route adds is counted', async () => {
    const limiter = limiterOf({ plans: { free: '9/min', staff: 'unlimited' }, defaultPlan: 'free' })
    const subjects = [{ id: 'acme', plan: 'staff' }]
    const first = await limiter.consume(subjects)
    expect(await amend(limiter, first, { subjects, cost: 4 })).toMatchObject({ source: 'unlimited', cost: 4 })
    const stacked = { export: '5/min' }
    const decision = await amend(limiter, first, { subjects, stacked, cost: 4 })
    expect(decision.limits).toMatchObject([{ name: 'export.minute', remaining: 1 }])
    expect(await amend(limiter, first, { subjects, stacked, cost: 4 })).toMatchObject({
      allowed: false,
      cost: 4,
    })
  })

  test('a plan that was blocked meanwhile: all goes back', async () => {
    const plans = { free: '9/min', bad: 'blocked' } as const
    const limiter = limiterOf({ plans, defaultPlan: 'free' })
    const first = await limiter.consume(acme)
    const subjects = [{ id: 'acme', plan: 'bad' }]
    expect(await amend(limiter, first, { subjects, cost: 4 })).toMatchObject({
      allowed: false,
      reason: 'blocked',
    })
    expect(await left(limiter)).toEqual([9])
  })

  test('a plan with other limits by now: all counts by these', async () => {
    const limiter = limiterOf({ plans: { free: ['9/min', '20/h'] } })
    const first = await limiter.consume(acme)
    limiter.setPlans({ free: '6/min' })
    expect(await amend(limiter, first, { cost: 4 })).toMatchObject({
      allowed: true,
      limits: [{ remaining: 2 }],
    })
    expect(await left(limiter)).toEqual([2])
  })

  test('limits of its own: what is missing counts by these', async () => {
    const limiter = limiterOf({ limit: '9/min' })
    const subjects = [{ id: 'acme', limits: ['50/min', '60/h'] }]
    const first = await limiter.consume(subjects)
    const decision = await amend(limiter, first, {
      subjects: [{ id: 'acme', limits: ['50/min', '60/h'] }],
      cost: 4,
    })
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([46, 56])
  })

  test('somebody else pays: the first gets all back', async () => {
    const limiter = limiterOf({ limit: '9/min' })
    const first = await limiter.consume({ id: 'guest' })
    expect(await amend(limiter, first, { cost: 4 })).toMatchObject({
      subject: acme,
      limits: [{ remaining: 5 }],
    })
    expect((await limiter.peek('guest')).limits[0]?.remaining).toBe(9)
  })

  test('one that was refunded since: all is asked', async () => {
    const limiter = limiterOf({ limit: '9/min' })
    const first = await limiter.consume(acme)
    await limiter.refund(first)
    expect(await amend(limiter, first, { cost: 4 })).toMatchObject({ limits: [{ remaining: 5 }] })
  })

  test('a cheaper route gives back what is too much', async () => {
    const limiter = limiterOf({ limit: '9/min' })
    const first = await limiter.consume(acme, { cost: 5 })
    expect(await amend(limiter, first, { cost: 2 })).toMatchObject({ cost: 2, limits: [{ remaining: 7 }] })
  })

  test('wrong subjects are refused before anything goes back', async () => {
    const limiter = limiterOf({ limit: '9/min' })
    const first = await limiter.consume(acme)
    const subjects = [{ id: 'acme', limits: '5/mn' }]
    await expect(amend(limiter, first, { subjects, cost: 4 })).rejects.toThrow('subject.limits')
    expect([await left(limiter), await limiter.refund(first)]).toEqual([[8], true])
  })

  test('a limiter of a user that wraps one: it is refunded, and asked for all', async () => {
    const inner = limiterOf({ limit: '9/min' })
    const { consume, refund, scope } = inner
    const wrapped = { consume: consume.bind(inner), refund: refund.bind(inner), scope: scope.bind(inner) }
    const limiter = wrapped as unknown as Limiter
    const first = await limiter.consume(acme)
    expect(await amend(limiter, first, { cost: 4 })).toMatchObject({ cost: 4, limits: [{ remaining: 5 }] })
  })
})

describe('a store that fails between the two', () => {
  test.each([
    ['closed', { allowed: false, source: 'closed', reason: 'store-unavailable', cost: 10 }, 20],
    ['open', { allowed: true, source: 'open', cost: 10 }, 20],
    ['local', { allowed: true, source: 'local', cost: 10 }, 10],
  ] as const)(
    '%s answers for all that the request asks, and only that counts',
    async (policy, expected, remains) => {
      const [redis, prefix, stacked] = [await server(), testPrefix(), { export: '15/min' }]
      const made = (): Limiter => {
        const store = redisStore(connect(redis.port), { prefix })
        const options = {
          deadlineMs: DEADLINE_MS,
          onStoreFailure: policy,
          local: { instances: 1 },
          warnings: false,
        }
        return closesWithTest(createLimiter({ limit: '20/min', store, ...options }))
      }
      const [limiter, other] = [made(), made()]
      // So that Redis has the script, and decides what is missing when it goes on.
      await eventually(async () => (await limiter.scope({ stacked }).consume('warm')).source === 'store')
      const first = await limiter.consume(acme)
      expect(first.source).toBe('store')
      redis.pause()
      const fallbacks: Decision[] = []
      limiter.on('fallback', (decision) => fallbacks.push(decision))
      const decision = await amend(limiter, first, { cost: 10, stacked })
      expect(decision).toMatchObject({ ...expected, limits: [] })
      expect(fallbacks).toEqual([decision])
      redis.resume()
      await eventually(async () => (await limiter.consume('other')).source === 'store')
      // It has given back and charged all that it has to by then.
      await limiter.close()
      expect(await left(other, { stacked })).toEqual([remains, remains - 5])
    },
  )

  test('a request that local let in is decided by the store again, once it answers', async () => {
    const { redis, limiter, left: leftOf } = await start()
    // On a busy machine it is charged before the route asks: then it may not come back.
    let charged = 0
    limiter.on('reconciliation', ({ units }) => void (charged += units))
    redis.pause()
    const first = await limiter.consume(acme)
    expect(first.source).toBe('local')
    redis.resume()
    await eventually(async () => (await limiter.peek('other')).source === 'store')
    expect(await amend(limiter, first, { cost: 10 })).toMatchObject({ allowed: true, cost: 10 })
    await comesToStay(async () => {
      const units = await leftOf('acme')
      return charged > 0 && units === 9 ? 10 : units
    }, 10)
  })

  test('close waits for what is under way, and leaves nothing taken of what it denied', async () => {
    const inner = memoryStore()
    const limiter = createLimiter({ limit: '20/min', store: asyncStore({}, inner), onStoreFailure: 'closed' })
    const first = await limiter.consume(acme)
    const asked = amend(limiter, first, { cost: 30 })
    await limiter.close()
    expect((await asked).allowed).toBe(false)
    expect(await left(createLimiter({ limit: '20/min', store: inner }))).toEqual([20])
  })
})
