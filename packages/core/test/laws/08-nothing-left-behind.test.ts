import { setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type LimitInput } from '../../src/index.js'
import { subjectKey } from '../../src/requests/key.js'
import { closeBenches, sharedRedis } from '../support/benches.js'
import { closesWithTest } from '../support/faults.js'

afterAll(closeBenches)

// A fixed number of instances, so that no key counts them.
const options = { deadlineMs: 10_000, onStoreFailure: 'closed', local: { instances: 1 } } as const

describe('law 8, nothing left behind, in Redis', () => {
  const limits: [name: string, limit: LimitInput, longestMs: number][] = [
    ['sliding-log', '5/300ms', 300],
    ['fixed-window', { quota: 5, window: 300, algorithm: 'fixed-window' }, 300],
    ['token-bucket', { quota: 5, window: 300, algorithm: 'token-bucket' }, 300],
    [
      'sliding-window, whose last window counts for another',
      { quota: 5, window: 150, algorithm: 'sliding-window' },
      300,
    ],
  ]

  test.each(limits)('an idle subject leaves no key: %s', async (_, limit, longestMs) => {
    const prefix = testPrefix()
    const limiter = closesWithTest(
      createLimiter({ limit, store: redisStore(sharedRedis(), { prefix }), ...options }),
    )
    const key = `${prefix}/${subjectKey({ id: 'acme' })}`
    for (let i = 0; i < 8; i += 1) {
      await limiter.consume('acme')
      await sleep(20)
    }
    expect(await sharedRedis().pttl(key)).toBeLessThanOrEqual(longestMs + 1)
    await sleep(longestMs + 30)
    expect(await sharedRedis().exists(key)).toBe(0)
  })

  test.each([
    ['sliding-log', '5/600ms'],
    [
      'with a shorter limit',
      ['5/600ms', { quota: 100, window: 100, algorithm: 'token-bucket', name: 'short' }],
    ],
  ] as [string, LimitInput][])(
    'a key lives until its last request no longer counts: %s',
    async (_, limit) => {
      const store = redisStore(sharedRedis(), { prefix: testPrefix() })
      const limiter = closesWithTest(createLimiter({ limit, store, ...options }))
      /** What is left 700 ms after the first request, and 300 ms after the second one; how long that really took. */
      const look = async (id: string): Promise<[left: number | undefined, tookMs: number]> => {
        await limiter.consume(id)
        await sleep(400)
        const began = performance.now()
        await limiter.consume(id, { cost: 2 })
        await sleep(300)
        const { limits } = await limiter.peek(id)
        return [limits[0]?.remaining, performance.now() - began]
      }
      let [left, tookMs] = await look('acme')
      // A busy machine can take so long that the second one is back, too.
      for (let again = 0; tookMs >= 600; again += 1) [left, tookMs] = await look(`acme ${again}`)
      expect(left).toBe(3)
    },
  )

  test('every key has a time to live: with a monthly limit at most the month', async () => {
    const prefix = testPrefix()
    const plans = { pro: ['50/s burst 100', '20000/min', '5000000/month'] } as const
    const limiter = closesWithTest(
      createLimiter({ plans, store: redisStore(sharedRedis(), { prefix }), ...options }),
    )
    for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
    const ttl = await sharedRedis().pttl(`${prefix}/${subjectKey({ id: 'acme' })}`)
    expect(ttl).toBeGreaterThan(60_000)
    expect(ttl).toBeLessThanOrEqual(31 * 86_400_000 + 2 * 3_600_000)
  })

  test('refunds leave few keys beside those of their subjects, of few bytes each', async () => {
    const prefix = testPrefix()
    const limiter = closesWithTest(
      createLimiter({
        limit: '100/min',
        store: redisStore(sharedRedis(), { prefix }),
        ...options,
      }),
    )
    const taken = await Promise.all(
      Array.from({ length: 500 }, (_, i) => limiter.consume(`t${i % 50}`, { cost: 2 })),
    )
    const settled = await Promise.all(taken.map((decision) => limiter.settle(decision, 1)))
    expect(settled).toEqual(taken.map(() => 1))
    const pages = (await sharedRedis().keys(`${prefix}/=*`)).sort()
    // Ids are counted, and 72 to 144 of them are in a page.
    expect(pages.length).toBeLessThanOrEqual(10)
    const bytes = await Promise.all(pages.map((page) => sharedRedis().strlen(page)))
    expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(500 * 4)
    for (const page of pages) {
      const ttl = await sharedRedis().pttl(page)
      expect(ttl).toBeGreaterThan(0)
      expect(ttl).toBeLessThanOrEqual(600_000)
    }
  })

  test('a denied flood adds no memory', async () => {
    const prefix = testPrefix()
    const limiter = closesWithTest(
      createLimiter({
        limit: '100/min',
        store: redisStore(sharedRedis(), { prefix }),
        ...options,
      }),
    )
    const key = `${prefix}/${subjectKey({ id: 'acme' })}`
    for (let i = 0; i < 100; i += 1) await limiter.consume('acme')
    const before = await sharedRedis().getBuffer(key)
    const flood = await Promise.all(Array.from({ length: 2000 }, () => limiter.consume('acme')))
    expect(flood.some(({ allowed }) => allowed)).toBe(false)
    expect(await sharedRedis().getBuffer(key)).toEqual(before)
    // A denied subject that was never seen leaves nothing at all.
    await limiter.consume('unseen', { cost: 101 })
    expect(await sharedRedis().exists(`${prefix}/${subjectKey({ id: 'unseen' })}`)).toBe(0)
  })

  test('units used on many plans are kept until they no longer count, in a key of bounded size', async () => {
    const windows = Array.from({ length: 40 }, (_, i) => 60_000 + 1000 * i)
    const plans = Object.fromEntries(windows.map((window) => [`every ${window}`, { quota: 5, window }]))
    const prefix = testPrefix()
    const limiter = closesWithTest(
      createLimiter({ plans, store: redisStore(sharedRedis(), { prefix }), ...options }),
    )
    for (const plan of Object.keys(plans)) await limiter.consume({ id: 'acme', plan })
    const [key] = await sharedRedis().keys(`${prefix}/[^!]*`)
    expect(await sharedRedis().strlen(key as string)).toBeLessThan(41 * 50)
    expect(await sharedRedis().pttl(key as string)).toBeGreaterThan(98_000)
    const left = await Promise.all(
      Object.keys(plans).map(async (plan) => (await limiter.peek({ id: 'acme', plan })).limits[0]?.remaining),
    )
    expect(left).toEqual(windows.map(() => 4))
  })

  test('a short limit is dropped after its window, also from a key with a monthly limit', async () => {
    const prefix = testPrefix()
    const plans = { month: '5/month', moment: { quota: 5, window: 50 }, minute: '5/min' }
    const limiter = closesWithTest(
      createLimiter({ plans, store: redisStore(sharedRedis(), { prefix }), ...options }),
    )
    await limiter.consume({ id: 'acme', plan: 'month' })
    const [key] = await sharedRedis().keys(`${prefix}/[^!]*`)
    const alone = await sharedRedis().strlen(key as string)
    await limiter.consume({ id: 'acme', plan: 'moment' })
    const both = await sharedRedis().strlen(key as string)
    expect(both).toBeGreaterThan(alone)
    await sleep(2100)
    await limiter.consume({ id: 'acme', plan: 'month' })
    expect(await sharedRedis().strlen(key as string)).toBe(alone)
    expect(await sharedRedis().pttl(key as string)).toBeGreaterThan(27 * 86_400_000)
  })

  test('a log has at most 129 slots, however many requests it counts', async () => {
    const prefix = testPrefix()
    const clock = { now: Date.now() }
    const store = redisStore(sharedRedis(), { prefix, now: () => clock.now })
    const limiter = closesWithTest(createLimiter({ limit: '1000000/min', store, ...options }))
    for (let i = 0; i < 3000; i += 1) {
      clock.now += 23
      await limiter.consume('acme')
    }
    expect(await sharedRedis().strlen(`${prefix}/${subjectKey({ id: 'acme' })}`)).toBeLessThan(40 + 129 * 7)
  })
})

describe('law 8, nothing left behind, in memory', () => {
  const sizeOf = (used: () => number): number => used()

  test('idle subjects are removed while others are active', () => {
    const entries = jest.spyOn(Map.prototype, 'delete')
    const clock = { now: 0 }
    const limiter = createLimiter({ limit: '5/min', store: memoryStore({ now: () => clock.now }) })
    for (let i = 0; i < 100; i += 1) void limiter.consume(`idle ${i}`)
    clock.now += 3_600_000 + 60_001
    entries.mockClear()
    for (let i = 0; i < 120; i += 1) void limiter.consume('busy')
    const forgotten = new Set(
      entries.mock.calls.map(([key]) => String(key)).filter((key) => key.includes('#')),
    )
    expect(sizeOf(() => forgotten.size)).toBe(100)
    entries.mockRestore()
  })

  test('with too many subjects the one idle longest is removed first', async () => {
    const limiter = createLimiter({ limit: '5/min', store: memoryStore({ maxSubjects: 2 }) })
    const remaining = async (id: string): Promise<unknown> => (await limiter.peek(id)).limits[0]?.remaining
    for (const id of ['a', 'b', 'a', 'c']) await limiter.consume(id)
    expect([await remaining('a'), await remaining('b'), await remaining('c')]).toEqual([3, 5, 4])
  })
})
