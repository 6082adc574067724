import { atCaller, ConfigError } from '../../base/errors.js'
import { needClock, needOptions } from '../../base/options.js'
import type { Store } from '../contract.js'
import { portOf, type RedisClient } from './clients/index.js'
import { layoutOf } from './layout.js'
import type { WaitForReplicasOptions } from './replica-wait.js'
import { ReplicatedStore } from './replicated-store.js'
import { RedisStore } from './scripted-store.js'
import { spaceOf } from '../spaces.js'

export interface RedisStoreOptions {
  /** The beginning of every key: 1 to 64 letters, digits or `_.:-`. Default: `tollgate`. */
  readonly prefix?: string | undefined
  /**
   * Only for a cluster client: the number of shards that keys are divided into. Requests of one tick in the same shard
   * go in one call. All processes need the same number: with another one, counts start anew. Default: 16.
   */
  readonly shards?: number | undefined
  /**
   * Gives decisions only when this many replicas have them, so that none is lost when one of these becomes the primary.
   * The connection is blocked meanwhile. After replicas were late nobody waits for a second. Needs permission for WAIT.
   * Not for a cluster, nor for a pool or sentinel client of node-redis.
   */
  readonly waitForReplicas?: WaitForReplicasOptions | undefined
  /** Returns the time in ms since 1970, in place of Redis's own; for tests. Keys then stay an hour longer. */
  readonly now?: (() => number) | undefined
}

/**
 * Counts in Redis 6.2 or newer, or Valkey, shared by every process that uses the same server and prefix. Redis's
 * own clock decides. Nothing is sent until the first request.
 *
 * @param client a client of ioredis 5 or 6, iovalkey, or node-redis 5 or 6. It stays yours: close it after the limiter.
 *               docs/redis.md has the settings it needs; Tollgate warns when requests could count twice
 * @throws {ConfigError} when the client is of an unknown kind, or an option is wrong or does not fit the client
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  return atCaller(redisStore, () => makeStore(client, options))
}

function makeStore(client: RedisClient, options: RedisStoreOptions): Store {
  needOptions(options, ['prefix', 'shards', 'waitForReplicas', 'now'], 'redisStore')
  const { prefix = 'tollgate', shards, waitForReplicas, now } = options
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    throw ConfigError.wrong('prefix', prefix, "1 to 64 letters, digits or _.:-, such as 'myapp'")
  }
  needClock(now)
  const port = portOf(client)
  const space = spaceOf(client, prefix)
  const store = new RedisStore(port, layoutOf(prefix, port.isCluster, shards), { space, now })
  return waitForReplicas === undefined ? store : new ReplicatedStore(store, port, waitForReplicas)
}
