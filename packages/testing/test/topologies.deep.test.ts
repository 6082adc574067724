import { Cluster, Redis } from 'ioredis'
import { eventually, startCluster, startSentinel, startTlsRedis, type RedisCluster } from '../src/index.ts'

const ended: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end()
})

/** In ms. Without it, ioredis keeps a timer of 2 s after a second disconnect, which keeps the process alive. */
const disconnectTimeout = 100
/** A key in slot 12182. */
const KEY = '{foo}:1'
const SLOT = 12_182

describe('a cluster', () => {
  const connect = (cluster: RedisCluster): Cluster => {
    const client = new Cluster(
      cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { clusterRetryStrategy: () => 50, slotsRefreshTimeout: 2000, redisOptions: { disconnectTimeout } },
    )
    client.on('error', () => {})
    ended.push(() => client.disconnect())
    return client
  }
  const start = async (): Promise<RedisCluster> => {
    const cluster = await startCluster()
    ended.push(() => cluster.stop())
    return cluster
  }

  test('has three primaries with a replica each, for all slots', async () => {
    const cluster = await start()
    const client = connect(cluster)
    await client.set(KEY, 'here')
    expect(await client.get(KEY)).toBe('here')
    expect([client.nodes('master').length, client.nodes('slave').length]).toEqual([3, 3])
    const primaries = await Promise.all([0, 5461, 10_923, 16_383].map((slot) => cluster.primaryOf(slot)))
    expect(primaries.map(({ port }) => port)).toEqual([0, 1, 2, 2].map((i) => cluster.nodes[i]?.port))
  })

  test('fails over to the replica when a primary dies, without losing data', async () => {
    const cluster = await start()
    const client = connect(cluster)
    await client.set(KEY, 'here')
    await client.wait(1, 1000)
    const dead = await cluster.killPrimary(SLOT)
    const died = performance.now()
    await cluster.whenOk()
    expect(performance.now() - died).toBeGreaterThan(500)
    const heir = await cluster.primaryOf(SLOT)
    expect(cluster.nodes.indexOf(heir)).toBe(cluster.nodes.indexOf(dead) + 3)
    expect(await client.get(KEY)).toBe('here')
  })

  test('moves a slot with its keys, and answers ASK, then MOVED', async () => {
    const cluster = await start()
    const client = connect(cluster)
    const keys = Array.from({ length: 10 }, (_, i) => `{foo}:${i}`)
    await Promise.all(keys.map((key) => client.set(key, key)))
    const from = await cluster.primaryOf(SLOT)
    const to = cluster.nodes[0] ?? from
    expect(to).not.toBe(from)
    const direct = new Redis(from.port, { disconnectTimeout })
    ended.push(() => direct.disconnect())
    const counts = async (): Promise<unknown[]> =>
      Promise.all(
        [from, to].map(async ({ port }) => {
          const node = new Redis(port, { disconnectTimeout })
          ended.push(() => node.disconnect())
          return node.cluster('COUNTKEYSINSLOT', SLOT)
        }),
      )
    await cluster.moveSlot(SLOT, to, async () => {
      expect(await counts()).toEqual([5, 5])
      expect(await Promise.all(keys.map((key) => client.get(key)))).toEqual(keys)
      await expect(direct.get('{foo}:not there')).rejects.toThrow(`ASK ${SLOT} 127.0.0.1:${to.port}`)
      await expect(direct.mget(keys)).rejects.toThrow('TRYAGAIN')
    })
    expect(await counts()).toEqual([0, 10])
    await expect(direct.get(KEY)).rejects.toThrow(`MOVED ${SLOT} 127.0.0.1:${to.port}`)
    expect(await cluster.primaryOf(SLOT)).toBe(to)
    expect(await client.mget(keys)).toEqual(keys)
  })
})

describe('sentinels', () => {
  test.each([
    ['dies', 'killPrimary'],
    ['hangs', 'pausePrimary'],
  ] as const)('make the replica the primary when that %s, and clients find it', async (_, fail) => {
    const sentinel = await startSentinel()
    ended.push(() => sentinel.stop())
    const client = new Redis({
      sentinels: sentinel.sentinels.map((each) => ({ ...each })),
      name: sentinel.name,
      sentinelRetryStrategy: () => 50,
      retryStrategy: () => 50,
      // A hanging server closes no connection. Not failoverDetector: when ioredis 6 learns of a failover while it
      // connects, it gives up for good.
      socketTimeout: 300,
      disconnectTimeout,
    })
    client.on('error', () => {})
    ended.push(() => client.disconnect())
    await client.set(KEY, 'here')
    await client.wait(1, 1000)
    const old = await sentinel[fail]()
    expect(old).toBe(sentinel.nodes[0])
    await sentinel.whenFailedOver(old)
    expect(await sentinel.primary()).toBe(sentinel.nodes[1])
    await eventually(async () => Boolean(await client.set(KEY, 'there')))
    expect(await client.get(KEY)).toBe('there')
    expect(String(await client.config('GET', 'port'))).toContain(String(sentinel.nodes[1]?.port))
  })
})

describe('a Redis behind TLS', () => {
  test('works for a client that trusts its certificate, and for no other', async () => {
    const server = await startTlsRedis()
    ended.push(() => server.stop())
    const connect = (ca?: string): Redis => {
      const client = new Redis(server.url, {
        lazyConnect: true,
        retryStrategy: () => null,
        tls: { ca },
        disconnectTimeout,
      })
      client.on('error', () => {})
      ended.push(() => client.disconnect())
      return client
    }
    const client = connect(server.ca)
    await client.connect()
    expect(await client.ping()).toBe('PONG')
    expect(String(await client.client('LIST'))).toContain(`laddr=127.0.0.1:${server.tlsPort}`)
    await expect(connect().connect()).rejects.toThrow()
  })
})
