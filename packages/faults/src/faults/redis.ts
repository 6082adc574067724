// The ways in which a Redis fails, each with a beginning and an end.
import {
  ask,
  freePort,
  startCluster,
  startRedis,
  startSentinel,
  type RedisServer,
} from '@tollgate/testing/redis'
import { faultsOfNetwork, faultsOfServer } from './common.ts'
import { onServer, repeated, type Fault, type Scene } from './scene.ts'

export const REDIS_FAULTS: readonly Fault[] = [
  ...faultsOfServer(startRedis),
  {
    name: 'out of memory',
    prepare: () =>
      onServer(
        startRedis,
        ({ port }) => ask(port, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction', 'maxmemory', 1),
        ({ port }) => ask(port, 'CONFIG', 'SET', 'maxmemory', 0),
      ),
  },
  {
    name: 'read-only replica',
    prepare: async () => {
      const nobody = await freePort()
      return onServer(
        startRedis,
        ({ port }) => ask(port, 'REPLICAOF', '127.0.0.1', nobody),
        ({ port }) => ask(port, 'REPLICAOF', 'NO', 'ONE'),
      )
    },
  },
  {
    name: 'scripts forgotten',
    isPartial: true,
    prepare: () => repeated(startRedis, ({ server }) => ask(server.port, 'SCRIPT', 'FLUSH'), 200),
  },
  ...faultsOfNetwork(startRedis),
  { name: 'cluster primary killed', forgets: true, isPartial: true, prepare: clusterFailover },
  { name: 'sentinel primary killed', forgets: true, prepare: sentinelFailover },
]

async function clusterFailover(): Promise<Scene> {
  const cluster = await startCluster()
  return {
    target: { nodes: cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) },
    begin: () => cluster.killPrimary(),
    end: () => cluster.whenOk(),
    close: () => cluster.stop(),
  }
}

async function sentinelFailover(): Promise<Scene> {
  const { sentinels, name, killPrimary, whenFailedOver, stop } = await startSentinel()
  let dead: RedisServer
  return {
    target: { sentinels, name },
    begin: async () => (dead = await killPrimary()),
    end: () => whenFailedOver(dead),
    close: stop,
  }
}
