import {
  ask,
  deployCluster,
  eventually,
  SOON_MS,
  startCluster,
  testPrefix,
  type Deployment,
} from '@tollgate/testing'
import { Cluster, Redis } from 'ioredis'
import { createCluster } from 'redis'
import { createLimiter, redisStore, type Decision, type RedisClient, type Store } from '../src/index.js'
import { compileLimits } from '../src/plans/limit-set.js'
import { parseLimit } from '../src/plans/limit.js'
import { shardOf, shardTags, slotOf } from '../src/stores/redis/slots.js'

const set = compileLimits([parseLimit('100/min', 'limit')])
const request = (key: string): Parameters<Store['consume']>[0][number] => ({ key, set, cost: 1 })

describe('shards', () => {
  test.each([1, 3, 16, 64, 1000, 1024])('%p are spread evenly over all slots', (count) => {
    const slots = shardTags(count).map((tag) => slotOf(`p:{${tag}}:x`))
    slots.forEach((slot, shard) => expect(Math.floor((slot * count) / 16_384)).toBe(shard))
    expect(new Set(shardTags(count)).size).toBe(count)
  })

  test('are what they were: keys of today are found tomorrow', () => {
    expect(shardTags(16).join()).toMatchInlineSnapshot(`"18,3,61,58,19,2,60,59,102,1,63,49,103,0,62,48"`)
    expect(['', 'a', '{12}:acme'].map((key) => shardOf(key, 16))).toMatchInlineSnapshot(`
[
  5,
  12,
  4,
]
`)
  })

  test('get as many keys each', () => {
    const counts = new Array<number>(16).fill(0)
    for (let i = 0; i < 16_000; i += 1) (counts[shardOf(`{${i % 64}}:tenant-${i}`, 16)] as number) += 1
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150)
  })

  test('are of cluster clients only, and a whole number', () => {
    const single = new Redis({ lazyConnect: true, autoResendUnfulfilledCommands: false })
    expect(() => redisStore(single, { shards: 16 })).toThrow(/^shards: got 16, expected it to be left out/)
    const options = { lazyConnect: true, retryDelayOnFailover: 0, enableOfflineQueue: false }
    const cluster = new Cluster([{ port: 1 }], options)
    for (const shards of [0, 1.5, 1025, '4']) {
      expect(() => redisStore(cluster, { shards: shards as number })).toThrow(/^shards: got/)
    }
    const store = redisStore(cluster, { shards: 5 })
    expect([store.partitions, store.joins, store.partitionOf?.('acme')]).toEqual([
      5,
      false,
      shardOf('acme', 5),
    ])
    expect(redisStore(single).partitions).toBeUndefined()
  })
})

describe('on a real cluster', () => {
  let deployment: Deployment
  let client: Cluster
  beforeAll(async () => {
    deployment = await deployCluster()
    client = connect(deployment.ports.map((port) => ({ port })))
  })
  afterAll(async () => {
    client.disconnect()
    await deployment.end()
  })

  function connect(servers: readonly { port: number }[], options: object = {}): Cluster {
    const nodes = servers.map(({ port }) => ({ host: '127.0.0.1', port }))
    return new Cluster(nodes, { retryDelayOnFailover: 0, enableOfflineQueue: false, ...options })
  }

  async function callsOf(command: string): Promise<number> {
    const stats = await Promise.all(deployment.operators.map((server) => server.info('commandstats')))
    const calls = stats.map((text) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0),
    )
    return calls.reduce((sum, count) => sum + count, 0)
  }

  test('slots are computed as Redis does', async () => {
    for (const key of ['', 'acme', 'p:{12}:x', '{}x', 'a{b', '{a}{b}', 'é漢😀', 'a}{c}']) {
      expect(slotOf(key)).toBe(await deployment.operators[0]?.call('CLUSTER', 'KEYSLOT', key))
    }
  })

  test('the requests of one tick are one EVALSHA a shard, whatever their number', async () => {
    const store = redisStore(client, { prefix: testPrefix(), shards: 4 })
    await store.ready?.()
    const batch = Array.from({ length: 128 }, (_, i) => request(`tenant-${i}`))
    await store.consume(batch)
    await Promise.all(deployment.operators.map((operator) => operator.config('RESETSTAT')))
    const answers = await store.consume(batch)
    expect([await callsOf('evalsha'), await callsOf('eval')]).toEqual([4, 0])
    expect(answers).toEqual(
      batch.map(() => expect.objectContaining({ limits: [expect.objectContaining({ remaining: 98 })] })),
    )
  })

  test('a batch of several shards is answered in its order', async () => {
    const store = redisStore(client, { prefix: testPrefix() })
    await store.ready?.()
    const keys = Array.from({ length: 40 }, (_, i) => `tenant-${i % 20}`)
    const answers = await store.consume(keys.map(request))
    expect(answers.map((answer) => ('limits' in answer ? answer.limits[0]?.remaining : answer))).toEqual(
      keys.map((_, i) => (i < 20 ? 99 : 98)),
    )
  })

  test('keys are PREFIX:{TAG}:KEY; refund and reset find them', async () => {
    const prefix = testPrefix()
    const limiter = createLimiter({
      limit: '9/min',
      store: redisStore(client, { prefix }),
      deadlineMs: 5000,
      local: { instances: 1 },
    })
    const ids = Array.from({ length: 30 }, (_, i) => `t${i}`)
    const decisions = await Promise.all(ids.map((id) => limiter.consume(id)))
    const keys = (await Promise.all(deployment.operators.map((one) => one.keys(`${prefix}:*`)))).flat()
    expect(keys.length).toBe(30)
    const tags = new Set(shardTags(16))
    for (const key of keys) {
      const [, tag = '', own = ''] = /:\{(\d+)\}:(\{\d+\}:t\d+)$/.exec(key) ?? []
      expect([tags.has(tag), shardTags(16)[shardOf(own, 16)]]).toEqual([true, tag])
    }
    expect(await Promise.all(decisions.map((decision) => limiter.refund(decision)))).toEqual(
      ids.map(() => true),
    )
    expect((await limiter.peek('t1')).limits[0]?.remaining).toBe(9)
    await Promise.all(ids.map((id) => limiter.reset(id)))
    expect((await Promise.all(deployment.operators.map((one) => one.keys(`${prefix}:*`)))).flat()).toEqual([])
  })

  test('where one server is gone, the others decide all that is theirs, at once', async () => {
    const mine = await deployCluster()
    const nodes = mine.ports.map((port) => ({ host: '127.0.0.1', port }))
    const set5 = {
      retryDelayOnFailover: 0,
      enableOfflineQueue: false,
      redisOptions: { disconnectTimeout: 100 },
    }
    const one = new Cluster(nodes, set5)
    const two = createCluster({
      rootNodes: mine.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      defaults: { disableOfflineQueue: true },
    })
    const clients: RedisClient[] = [one, two]
    const stores = clients.map((given) => redisStore(given, { prefix: testPrefix() }))
    const batch = Array.from({ length: 64 }, (_, i) => request(`tenant-${i}`))
    for (const store of stores) {
      await store.ready?.()
      await store.consume(batch)
    }
    // The cluster goes on with the slots that are left.
    await Promise.all(
      mine.operators.map((operator) => operator.config('SET', 'cluster-require-full-coverage', 'no')),
    )
    // It never answers that.
    mine.operators[2]?.call('SHUTDOWN', 'NOSAVE').catch(() => {})
    await eventually(
      () =>
        ask(mine.ports[2] as number, 'PING').then(
          () => false,
          () => true,
        ),
      'it is gone',
    )
    for (const store of stores) {
      const started = performance.now()
      const answers = await store.consume(batch)
      // Nobody waits for what is gone.
      expect(performance.now() - started).toBeLessThan(SOON_MS)
      const failed = answers.filter((answer) => !('limits' in answer))
      expect([failed.length > 5, failed.length < 40]).toEqual([true, true])
      expect(new Set(failed.map((answer) => 'reason' in answer && answer.reason))).toEqual(
        new Set(['unreachable']),
      )
    }
    one.disconnect()
    two.destroy()
    await mine.end()
  })

  test('scripts go to primaries, also where reads go to replicas', async () => {
    const cluster = await startCluster()
    const scaled = connect(cluster.nodes, { scaleReads: 'slave' })
    const other = createCluster({
      rootNodes: cluster.nodes.map(({ url }) => ({ url })),
      useReplicas: true,
      defaults: { disableOfflineQueue: true },
    })
    const decisions: Decision[] = []
    for (const each of [scaled, other]) {
      const store = redisStore(each, { prefix: testPrefix() })
      const limiter = createLimiter({ limit: '9/min', store, deadlineMs: 5000 })
      for (let i = 0; i < 30; i += 1)
        decisions.push(await limiter.consume(`t${i}`), await limiter.peek(`t${i}`))
    }
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']))
    const replicas = cluster.nodes.slice(3)
    const asked = await Promise.all(replicas.map(({ port }) => ask(port, 'INFO', 'commandstats')))
    for (const stats of asked) expect(String(stats)).not.toContain('cmdstat_eval')
    scaled.disconnect()
    other.destroy()
    await cluster.stop()
  })
})
