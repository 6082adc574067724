// Law 8, nothing left behind: denials are counted in the subject's own value, in few bytes, and not longer than they count.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter, type PlanInput } from '../../../src/index.js'
import { subjectKey } from '../../../src/requests/key.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { closesWithTest } from '../../support/faults.js'
import { blockingAfter, outcomeOf, setOf } from '../../support/store-requests.js'

afterAll(closeBenches)

const options = { deadlineMs: 10_000, onStoreFailure: 'closed', local: { instances: 1 } } as const
const blockAfter = { denials: 3, within: '10s', for: ['1s', '20s'] } as const

function start(free: PlanInput): { limiter: Limiter; key: string; prefix: string } {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix })
  const limiter = createLimiter({ plans: { free }, defaultPlan: 'free', store, denials: false, ...options })
  return { limiter: closesWithTest(limiter), key: `${prefix}/${subjectKey({ id: 'acme' })}`, prefix }
}

test.each(['2/s', '2/s burst 4', '2/h', ['2/s', '9/min']] as const)(
  'a subject that was never denied has the same value as without the option: %s',
  async (limits) => {
    const sizes = await Promise.all(
      [limits, { limits, blockAfter }].map(async (plan) => {
        const { limiter, key } = start(plan)
        await limiter.consume('acme')
        await limiter.consume('acme')
        return [await sharedRedis().strlen(key), (await sharedRedis().pttl(key)) > 0]
      }),
    )
    expect(sizes[1]).toEqual(sizes[0])
  },
)

test('denials take 28 bytes, and keep the key for as long as they count', async () => {
  const { limiter, key } = start({ limits: '2/s', blockAfter })
  for (let i = 0; i < 2; i += 1) await limiter.consume('acme')
  const size = await sharedRedis().strlen(key)
  expect(await sharedRedis().pttl(key)).toBeLessThanOrEqual(2000)
  await limiter.consume('acme')
  await limiter.consume('acme')
  expect(await sharedRedis().strlen(key)).toBe(size + 28)
  const ttl = await sharedRedis().pttl(key)
  expect(ttl).toBeGreaterThan(8000)
  expect(ttl).toBeLessThanOrEqual(11_000)
})

test('a block keeps the key for as long as it makes the next one longer, and a lifted one no longer', async () => {
  const { limiter, key } = start({ limits: '2/s', blockAfter })
  for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  const ttl = await sharedRedis().pttl(key)
  expect(ttl).toBeGreaterThan(18_000)
  expect(ttl).toBeLessThanOrEqual(22_000)
  const store = redisStore(sharedRedis(), { prefix: key.slice(0, key.indexOf('/')) })
  const part = { key: key.slice(key.indexOf('/') + 1), set: setOf('2/s'), cost: 1 }
  const lift = { shard: 0, grant: 'unblock', parts: [part] } as const
  const before = await sharedRedis().strlen(key)
  const { wasBlocked } = await outcomeOf(store, lift)
  expect([wasBlocked, await sharedRedis().strlen(key)]).toEqual([true, before - 28])
  expect(await sharedRedis().pttl(key)).toBeLessThanOrEqual(2000)
  expect(await outcomeOf(store, lift)).toMatchObject({ wasBlocked: false })
  await eventually(async () => expect(await sharedRedis().exists(key)).toBe(0))
})

test('a denied flood of ids that were never let in adds no keys', async () => {
  const { limiter, prefix } = start({ limits: '2/s', blockAfter })
  await Promise.all(Array.from({ length: 100 }, (_, i) => limiter.consume(`made up ${i}`, { cost: 3 })))
  expect(await sharedRedis().keys(`${prefix}/[^!]*`)).toEqual([])
})

test('however many processes report denials, a value has at most 252 bytes of them', async () => {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix, now: () => START_MS })
  const set = blockingAfter(setOf('2/min'), { denials: 9999, withinUs: 60_000_000, forUs: [60_000_000] })
  const part = { key: 'k', set, cost: 1 }
  await outcomeOf(store, { shard: 0, grant: 'all', parts: [part] })
  const size = await sharedRedis().strlen(`${prefix}/k`)
  for (let i = 0; i < 40; i += 1) {
    const tally = { by: `proc${String(i).padStart(2, '0')}`, number: 1, total: 5, ageUs: 1000 }
    await outcomeOf(store, { shard: 0, grant: 'all', parts: [{ ...part, cost: 3, tally }] })
  }
  expect((await sharedRedis().strlen(`${prefix}/k`)) - size).toBe(252)
})
