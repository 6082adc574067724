// Faults of one shard of a cluster.
import { ask, startCluster, type ClusterNode, type RedisCluster } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { redisStore } from '../../src/index.js'
import type { Fault, FaultPlace } from './server-faults.js'

function clientOf(cluster: RedisCluster): Cluster {
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const client = new Cluster(nodes, {
    redisOptions: { disconnectTimeout: 100, autoResendUnfulfilledCommands: false },
    retryDelayOnFailover: 0,
    clusterRetryStrategy: () => 20,
  })
  client.on('error', () => {})
  return client
}

function place(
  begin: (cluster: RedisCluster) => Promise<unknown>,
  end: (cluster: RedisCluster) => Promise<unknown>,
): () => Promise<FaultPlace> {
  return async () => {
    // The other shards go on when one is gone.
    const args = ['--cluster-require-full-coverage', 'no']
    const cluster = await startCluster({ primaries: 3, replicas: 0, args })
    const [client, direct] = [clientOf(cluster), clientOf(cluster)]
    return {
      store: (prefix) => redisStore(client, { prefix }),
      direct: (prefix) => redisStore(direct, { prefix }),
      begin: async () => void (await begin(cluster)),
      end: async () => void (await end(cluster)),
      stop: async () => {
        client.disconnect()
        direct.disconnect()
        await cluster.stop()
      },
    }
  }
}

/** Moves up to four slots that have keys from one node to another. */
async function moveSlots(cluster: RedisCluster, from: number, to: number): Promise<void> {
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]] as [ClusterNode, ClusterNode]
  const keys = (await ask(source.port, 'KEYS', '*')) as string[]
  const slots = new Set<number>()
  for (const key of keys) slots.add(Number(await ask(source.port, 'CLUSTER', 'KEYSLOT', key)))
  await cluster.moveSlots([...slots].slice(0, 4), target)
}

export const clusterFaults: readonly Fault[] = [
  {
    name: 'shard killed',
    staysDown: true,
    start: place(
      (cluster) => (cluster.nodes[1] as ClusterNode).kill(),
      async () => {},
    ),
  },
  {
    name: 'slots moved',
    start: place(
      async (cluster) => moveSlots(cluster, 0, 1),
      async (cluster) => moveSlots(cluster, 1, 2),
    ),
  },
]
