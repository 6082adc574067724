// Billing days over four processes, on one server and on a cluster, and how long their keys live (law 8).
import { startRedis, testPrefix, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../../src/index.js'
import { clusterOf } from '../../roads/road.js'

const PROCESSES = 4
const DAY = 86_400_000

let server: RedisServer
const clients: Redis[] = []
let cluster: Awaited<ReturnType<typeof clusterOf>>

beforeAll(async () => {
  server = await startRedis()
  cluster = await clusterOf(PROCESSES)
  for (let i = 0; i < PROCESSES; i += 1) clients.push(new Redis(server.port, { retryStrategy: () => 50 }))
})
afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.kill()
  await cluster.stop()
})

const limiters: Limiter[] = []
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.close()
})

function limiterOn(client: unknown, prefix: string, options: object): Limiter {
  const given = {
    store: redisStore(client as never, { prefix }),
    deadlineMs: 30_000,
    denials: false,
    warnings: false,
  }
  const limiter = createLimiter({
    ...given,
    onStoreFailure: 'closed',
    ...options,
  } as unknown as LimiterOptions)
  limiters.push(limiter)
  return limiter
}

const where = ['one server', 'a cluster'] as const
const processes = (on: (typeof where)[number], options: object): Limiter[] => {
  const prefix = testPrefix()
  return (on === 'a cluster' ? cluster.clients : clients).map((client) => limiterOn(client, prefix, options))
}

test.each(where)('on %s, all processes use one window, whatever day each of them says', async (on) => {
  const all = processes(on, { limit: '10/month' })
  const answers = await Promise.all(
    all.flatMap((limiter, i) =>
      [1, 2, 3, 4].map((n) => limiter.consume({ id: 'acme', anchor: 1 + ((n + i) % 5) })),
    ),
  )
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(10)
  const ends = answers.map(({ limits }) => Math.round((limits[0]?.resetMs ?? 0) / DAY))
  expect(new Set(ends).size).toBe(1)
})

test.each(where)('on %s, a group, a stacked limit and several subjects on different shards', async (on) => {
  const all = processes(on, { limit: '10/month' })
  const scopes = all.map((limiter) =>
    limiter.scope({ group: 'g', limit: '7/month', stacked: { s: '9/month' } }),
  )
  const answers = await Promise.all(
    scopes.flatMap((scope, i) =>
      [1, 2, 3, 4].map((n) =>
        scope.consume([
          { id: 'acme', anchor: 1 + ((n + i) % 5) },
          { id: `user-${n}`, anchor: 3 },
        ]),
      ),
    ),
  )
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(7)
  const looks = await Promise.all(
    [1, 2, 3, 4].map((n) => (scopes[0] as Limiter).peek({ id: `user-${n}`, anchor: 3 })),
  )
  const used = looks.map(({ limits }) => limits[0]?.used ?? 0)
  // What a step took of a request that a later step denied has gone back.
  expect(used.reduce((sum, one) => sum + one, 0)).toBe(7)
})

test('a key lives for two windows and a day at most, and until the next window has begun', async () => {
  const prefix = testPrefix()
  const limiter = limiterOn(clients[0], prefix, { limit: '10/month' })
  const { limits } = await limiter.consume({ id: 'acme', anchor: 15 })
  const ttl = await (clients[0] as Redis).pttl(`${prefix}/acme`)
  expect(ttl).toBeGreaterThan((limits[0]?.resetMs ?? 0) + 31 * DAY)
  expect(ttl).toBeLessThan((2 * 31 + 1.1) * DAY)
})

test('a key with overage lives for one window more', async () => {
  const prefix = testPrefix()
  const limit = { quota: 3, window: '100s', overage: true }
  const limiter = limiterOn(clients[0], prefix, { limit })
  const { limits } = await limiter.consume('acme')
  const ttl = await (clients[0] as Redis).pttl(`${prefix}/acme`)
  expect(ttl).toBeGreaterThan((limits[0]?.resetMs ?? 0) + 50_000)
  expect(ttl).toBeLessThanOrEqual(201_000)
})
