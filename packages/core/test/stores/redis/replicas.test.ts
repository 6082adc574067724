import { eventually } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLimiter, redisStore } from '../../../src/index.js'
import { limitSetOf } from '../../../src/plans/limit-set-of.js'
import { connect, endFaults, endsWithTest, server } from '../../support/faults.js'

afterEach(endFaults)

async function replicated(): Promise<{ port: number; replica: Redis; pause(): void; resume(): void }> {
  const primary = await server({ args: ['--repl-diskless-sync-delay', '0'] })
  const second = await server({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] })
  const replica = connect(second.port)
  await eventually(async () => (await replica.info('replication')).includes('master_link_status:up'))
  return { port: primary.port, replica, pause: () => second.pause(), resume: () => second.resume() }
}

test.each(['ioredis', 'node-redis'])('%s: a decision is there when the replica has it', async (kind) => {
  const { port, replica } = await replicated()
  const client =
    kind === 'ioredis'
      ? connect(port)
      : createClient({
          socket: { port, host: '127.0.0.1', reconnectStrategy: 50 },
          disableOfflineQueue: true,
        })
  if ('destroy' in client) endsWithTest({ disconnect: () => client.destroy() })
  const store = redisStore(client as never, { waitForReplicas: { count: 1, timeoutMs: 1000 } })
  const limiter = createLimiter({ limit: '100/min', store, deadlineMs: 5000, local: { instances: 1 } })
  for (let i = 0; i < 20; i += 1) {
    expect((await limiter.consume(`t${i}`)).source).toBe('store')
    expect(await replica.dbsize()).toBe(i + 1)
  }
  expect([await limiter.reset('t0'), await replica.dbsize(), await limiter.reset('t0')]).toEqual([
    true,
    19,
    false,
  ])
})

test('leases are granted, and are there when the replica has them', async () => {
  const { port, replica } = await replicated()
  const store = redisStore(connect(port), { waitForReplicas: { count: 1, timeoutMs: 1000 } })
  expect(store.leases).toBe(true)
  const wish = { id: 'lease-000001', most: 4, least: 1, share: 1, lengthUs: 500_000, lagUs: 0 }
  const parts = [{ key: 'k', set: limitSetOf('100/min'), cost: 4 }]
  const [answer] = await store.consume([{ shard: 0, grant: 'lease', parts, order: { reports: [], wish } }])
  expect(answer).toMatchObject({ limits: [{ granted: 4, leased: 4 }], lease: { isKnown: true } })
  expect(await replica.dbsize()).toBe(1)
})

test('a replica that hangs is waited for as long as timeoutMs says, and the decision stands', async () => {
  const { port, pause, resume } = await replicated()
  const store = redisStore(connect(port), { waitForReplicas: { count: 1, timeoutMs: 60 } })
  const limiter = createLimiter({ limit: '100/min', store, deadlineMs: 5000, local: { instances: 1 } })
  await limiter.consume('acme')
  pause()
  const started = performance.now()
  expect((await limiter.consume('acme')).source).toBe('store')
  expect(performance.now() - started).toBeGreaterThan(50)
  expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(98)
  resume()
})

test.each([
  [{ count: 0, timeoutMs: 10 }, 'waitForReplicas.count'],
  [{ count: 1, timeoutMs: 1.5 }, 'waitForReplicas.timeoutMs'],
  [{ count: 1 }, 'waitForReplicas.timeoutMs'],
  [{ count: 1, timeoutMs: 1, replicas: 1 }, 'waitForReplicas.replicas'],
])('%j is refused', (waitForReplicas, path) => {
  const client = connect(1)
  expect(() => redisStore(client, { waitForReplicas: waitForReplicas as never })).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
  )
})

test('a cluster client is refused', () => {
  const cluster = new Redis.Cluster([{ port: 1, host: '127.0.0.1' }], { lazyConnect: true })
  endsWithTest(cluster)
  expect(() => redisStore(cluster, { waitForReplicas: { count: 1, timeoutMs: 10 } })).toThrow(
    expect.objectContaining({ path: 'waitForReplicas' }),
  )
})
