// Answers that overtake one another on a cluster whose slots move, and on a pool of Sentinel. On one server: order.test.ts.
import { once } from 'node:events'
import { ask, startCluster, startSentinel } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { createCluster, createSentinel } from 'redis'
import type { Limiter, RedisClient } from '../../../src/index.js'
import { hashSlotFor } from '../../../src/stores/redis/layout.js'
import { LateReply, limiterOfTwo, onlyOneMore, warmUp } from './late-replies.js'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

function limiterOn(client: RedisClient): Limiter {
  const limiter = limiterOfTwo(client)
  ends.push(() => limiter.close())
  return limiter
}

const subject = 'acme'

describe('a cluster', () => {
  const kinds = {
    ioredis: async (nodes: { host: string; port: number }[]) => {
      const client = new Cluster(nodes, { retryDelayOnFailover: 0, enableOfflineQueue: false })
      ends.push(() => client.disconnect())
      await once(client, 'ready')
      return { client: client as RedisClient, method: 'evalsha' }
    },
    'node-redis': async (nodes: { host: string; port: number }[]) => {
      const rootNodes = nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }))
      const client = createCluster({ rootNodes, defaults: { disableOfflineQueue: true } })
      ends.push(() => client.destroy())
      await client.connect()
      return { client: client as RedisClient, method: 'evalSha' }
    },
  }

  test.each([
    ['ioredis', 'MOVED'],
    ['ioredis', 'ASK'],
    ['node-redis', 'MOVED'],
    ['node-redis', 'ASK'],
  ] as const)('%s: %s', async (kind, how) => {
    const cluster = await startCluster({ primaries: 2, replicas: 0, nodeTimeoutMs: 30_000 })
    ends.push(() => cluster.stop())
    const { client, method } = await kinds[kind](
      cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
    )
    const limiter = limiterOn(client)
    await warmUp(limiter, subject)
    const all = await Promise.all(cluster.nodes.map(({ port }) => ask(port, 'KEYS', `*${subject}*`)))
    const key = String(all.flat()[0])
    const from = await cluster.primaryOf(hashSlotFor(key))
    const to = cluster.nodes.find((node) => node !== from) as typeof from
    const slot = String(hashSlotFor(key))
    await onlyOneMore(limiter, new LateReply(client, method), {
      subject,
      meanwhile: async () => {
        if (how === 'MOVED') return cluster.moveSlot(Number(slot), to)
        await ask(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id)
        await ask(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id)
        await ask(from.port, 'MIGRATE', '127.0.0.1', String(to.port), key, '0', '5000')
      },
    })
  })
})

test('a pool of Sentinel', async () => {
  const group = await startSentinel()
  ends.push(() => group.stop())
  const client = createSentinel({
    name: group.name,
    sentinelRootNodes: [...group.sentinels],
    nodeClientOptions: { disableOfflineQueue: true },
    masterPoolSize: 2,
  })
  client.on('error', () => {})
  ends.push(() => client.destroy())
  await client.connect()
  const limiter = limiterOn(client)
  await warmUp(limiter, subject)
  await onlyOneMore(limiter, new LateReply(client, 'evalSha'), { subject })
})
