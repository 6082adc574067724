import {
  ask,
  deployCluster,
  eventually,
  SOON_MS,
  startCluster,
  testPrefix,
  type Deployment,
} from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { redisStore, type RedisClient, type StoreError } from '../../../src/index.js'
import type { StoreRequest } from '../../../src/stores/contract.js'
import { shardTags, hashSlotFor } from '../../../src/stores/redis/layout.js'
import { needOutcome, receiptsOf, requestOf, setOf } from '../../support/store-requests.js'

const set = setOf('100/min')
const request = (key: string, shard = 0): StoreRequest => ({ ...requestOf(key, set), shard })

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
    return new Cluster(nodes, {
      retryDelayOnFailover: 0,
      enableOfflineQueue: false,
      clusterRetryStrategy: () => 50,
      ...options,
    })
  }

  async function callsOf(command: string): Promise<number> {
    const stats = await Promise.all(deployment.operators.map((server) => server.info('commandstats')))
    const calls = stats.map((text) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0),
    )
    return calls.reduce((sum, count) => sum + count, 0)
  }

  test('slots are computed like in Redis', async () => {
    for (const key of ['', 'acme', 'p:{12}:x', '{}x', 'a{b', '{a}{b}', 'é漢😀', 'a}{c}']) {
      expect(hashSlotFor(key)).toBe(await deployment.operators[0]?.call('CLUSTER', 'KEYSLOT', key))
    }
  })

  test('a batch for a shard is one EVALSHA, whatever its size, and is answered in order', async () => {
    const store = redisStore(client, { prefix: testPrefix(), shards: 4 })
    await store.ready?.()
    const keys = Array.from({ length: 128 }, (_, i) => `tenant-${i % 64}`)
    await store.consume(keys.map((key) => request(key, 2)))
    await Promise.all(deployment.operators.map((operator) => operator.config('RESETSTAT')))
    const answers = await store.consume(keys.map((key) => request(key, 2)))
    expect([await callsOf('evalsha'), await callsOf('eval')]).toEqual([1, 0])
    expect(answers.map((answer) => needOutcome(answer).limits[0]?.remaining)).toEqual(
      keys.map((_, i) => (i < 64 ? 97 : 96)),
    )
  })

  test('keys are PREFIX/{TAG}/KEY by shard; so are ids, and the keys of refund and reset', async () => {
    const prefix = testPrefix()
    const store = redisStore(client, { prefix })
    await store.ready?.()
    const tags = shardTags(16)
    for (let shard = 0; shard < 16; shard += 1) {
      const parts = ['acme', 'group'].map((key) => ({ key, set, cost: 2 }))
      const taken = needOutcome((await store.consume([{ shard, parts, grant: 'all' }]))[0])
      const receipts = receiptsOf(taken, 1)
      const refund = {
        shard,
        id: 'r',
        parts: parts.map(({ key }, i) => ({ key, set, receipts: receipts.slice(i, i + 1) })),
      }
      expect(await store.refund([refund])).toEqual([true])
      expect(needOutcome((await store.peek([request('acme', shard)]))[0]).limits[0]?.remaining).toBe(99)
    }
    const found = async (): Promise<string[]> =>
      (await Promise.all(deployment.operators.map((one) => one.keys(`${prefix}/*`)))).flat().sort()
    const named = (names: readonly string[]): string[] =>
      tags.flatMap((tag) => names.map((name) => `${prefix}/{${tag}}/${name}`)).sort()
    expect(await found()).toEqual(named(['=+8', 'acme', 'group']))
    await Promise.all(deployment.operators.map((operator) => operator.config('RESETSTAT')))
    const shards = Array.from({ length: 16 }, (_, shard) => shard)
    const reset = (): Promise<boolean[]> =>
      Promise.all(shards.map(async (shard) => store.reset(['acme', 'group'], shard)))
    expect(await reset()).toEqual(shards.map(() => true))
    expect([await callsOf('del'), await found()]).toEqual([16, named(['=+8'])])
    expect(await reset()).toEqual(shards.map(() => false))
  })

  test('when one server is gone, the others decide their keys at once', async () => {
    const mine = await deployCluster()
    const nodes = mine.ports.map((port) => ({ host: '127.0.0.1', port }))
    const set5 = {
      retryDelayOnFailover: 0,
      clusterRetryStrategy: () => 50,
      enableOfflineQueue: false,
      redisOptions: { disconnectTimeout: 100 },
    }
    const one = new Cluster(nodes, set5)
    const two = createCluster({
      rootNodes: mine.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      defaults: { disableOfflineQueue: true, socket: { reconnectStrategy: 50 } },
    })
    const clients: RedisClient[] = [one, two]
    const stores = clients.map((given) => redisStore(given, { prefix: testPrefix() }))
    const shards = shardTags(16).map((_, shard) => shard)
    for (const store of stores) {
      await store.ready?.()
      await Promise.all(shards.map((shard) => store.consume([request('acme', shard)])))
    }
    // The cluster keeps serving the remaining slots.
    await Promise.all(
      mine.operators.map((operator) => operator.config('SET', 'cluster-require-full-coverage', 'no')),
    )
    // SHUTDOWN gets no answer.
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
      const settled = await Promise.allSettled(shards.map((shard) => store.consume([request('acme', shard)])))
      // No request waits for the server that is gone.
      expect(performance.now() - started).toBeLessThan(SOON_MS)
      const reasons = settled.flatMap((one) =>
        one.status === 'rejected' ? [(one.reason as StoreError).reason] : [],
      )
      expect([reasons.length > 2, reasons.length < 10]).toEqual([true, true])
      expect(new Set(reasons)).toEqual(new Set(['unreachable']))
    }
    one.disconnect()
    two.destroy()
    await mine.end()
  })

  test('scripts go to primaries, even if reads go to replicas', async () => {
    const cluster = await startCluster()
    const scaled = connect(cluster.nodes, { scaleReads: 'slave' })
    const other = createCluster({
      rootNodes: cluster.nodes.map(({ url }) => ({ url })),
      useReplicas: true,
      defaults: { disableOfflineQueue: true, socket: { reconnectStrategy: 50 } },
    })
    for (const each of [scaled, other]) {
      const store = redisStore(each, { prefix: testPrefix() })
      await store.ready?.()
      for (let shard = 0; shard < 16; shard += 1) {
        for (const how of ['consume', 'peek'] as const) {
          needOutcome((await store[how]([request('acme', shard)]))[0])
        }
      }
    }
    const replicas = cluster.nodes.slice(3)
    const asked = await Promise.all(replicas.map(({ port }) => ask(port, 'INFO', 'commandstats')))
    for (const stats of asked) expect(String(stats)).not.toContain('cmdstat_eval')
    scaled.disconnect()
    other.destroy()
    await cluster.stop()
  })
})
