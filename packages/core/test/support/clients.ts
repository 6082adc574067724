// Every kind of client, with the settings that docs/operations/redis.md recommends.
import { deployCluster, type ClientKind, type ClientSettings } from '@tollgate/testing'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey'
import { createClient, createCluster, RESP_TYPES } from 'redis'
import {
  createClient as createClient5,
  createCluster as createCluster5,
  RESP_TYPES as RESP_TYPES5,
} from 'redis5'
import type { RedisClient } from '../../src/index.js'

/** Translates the settings into options of ioredis. */
function ioredisOptions({ ports, database, isLazy, numbersAsStrings, ...same }: ClientSettings): object {
  return {
    ...same,
    host: '127.0.0.1',
    port: ports[0],
    ...(database !== undefined && { db: database }),
    lazyConnect: isLazy ?? false,
    stringNumbers: numbersAsStrings ?? false,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
    disconnectTimeout: 100,
  }
}

function ioredisKind<Client extends RedisClient & { disconnect(): void }>(
  make: (options: object) => Client,
): ClientKind<Client> {
  return { make: (settings) => make(ioredisOptions(settings)), close: (client) => client.disconnect() }
}

type ClusterMaker<Client> = (nodes: { host: string; port: number }[], options: object) => Client

function ioredisClusterKind<Client extends RedisClient & { disconnect(): void }>(
  make: ClusterMaker<Client>,
): ClientKind<Client> {
  return {
    make: ({ ports, isLazy, keyPrefix, password, numbersAsStrings }) =>
      make(nodesOf(ports), {
        redisOptions: {
          password,
          keyPrefix,
          stringNumbers: numbersAsStrings ?? false,
          disconnectTimeout: 100,
        },
        lazyConnect: isLazy ?? false,
        retryDelayOnFailover: 0,
        enableOfflineQueue: false,
        clusterRetryStrategy: () => 50,
      }),
    close: (client) => client.disconnect(),
    lacks: ['database'],
    deploy: deployCluster,
  }
}

function nodesOf(ports: readonly number[]): { host: string; port: number }[] {
  return ports.map((port) => ({ host: '127.0.0.1', port }))
}

function nodeRedisOptions({ ports, username, password, database, keyPrefix }: ClientSettings): object {
  return {
    socket: { host: '127.0.0.1', port: ports[0], reconnectStrategy: 50 },
    disableOfflineQueue: true,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    ...(keyPrefix !== undefined && { keyPrefix }),
  }
}

function nodeRedisClusterOptions({ ports, password, keyPrefix }: ClientSettings): {
  rootNodes: { url: string }[]
  defaults: object
} {
  return {
    rootNodes: ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
    defaults: {
      disableOfflineQueue: true,
      ...(password !== undefined && { password }),
      socket: { reconnectStrategy: 50 },
    },
    ...(keyPrefix !== undefined && { keyPrefix }),
  }
}

type Kinds = Readonly<Record<string, ClientKind<RedisClient>>>

/** The clients that `npm test` tries; the deep run tries all. */
export const isLatest = (name: string): boolean => /^(ioredis|node-redis) 6\b/.test(name)

const asStrings = { [RESP_TYPES.NUMBER]: String }
const asStrings5 = { [RESP_TYPES5.NUMBER]: String }
const nodeRedisCloses: Pick<ClientKind<RedisClient & { destroy(): unknown }>, 'close'> = {
  close: (client) => client.destroy(),
}

export const standaloneKinds: Kinds = {
  'ioredis 6': ioredisKind((options) => new Redis(options)),
  'ioredis 5': ioredisKind((options) => new Redis5(options)),
  iovalkey: ioredisKind((options) => new Valkey(options)),
  'node-redis 6': {
    make: (settings: ClientSettings) => {
      const client = createClient(nodeRedisOptions(settings))
      return settings.numbersAsStrings ? client.withTypeMapping(asStrings) : client
    },
    ...nodeRedisCloses,
    lacks: ['isLazy'],
  },
  'node-redis 5': {
    make: (settings: ClientSettings) => {
      const client = createClient5(nodeRedisOptions(settings))
      return settings.numbersAsStrings ? client.withTypeMapping(asStrings5) : client
    },
    ...nodeRedisCloses,
    lacks: ['isLazy', 'keyPrefix'],
  },
}

const noDatabase = { lacks: ['isLazy', 'database', 'numbersAsStrings'], deploy: deployCluster } as const

export const clusterKinds: Kinds = {
  'ioredis 6 Cluster': ioredisClusterKind((nodes, options) => new Cluster(nodes, options)),
  'ioredis 5 Cluster': ioredisClusterKind((nodes, options) => new Cluster5(nodes, options)),
  'iovalkey Cluster': ioredisClusterKind((nodes, options) => new ValkeyCluster(nodes, options)),
  'node-redis 6 createCluster': {
    make: (settings: ClientSettings) => createCluster(nodeRedisClusterOptions(settings)),
    ...nodeRedisCloses,
    ...noDatabase,
  },
  'node-redis 5 createCluster': {
    make: (settings: ClientSettings) => createCluster5(nodeRedisClusterOptions(settings)),
    ...nodeRedisCloses,
    ...noDatabase,
    lacks: [...noDatabase.lacks, 'keyPrefix'],
  },
}
