import { atCaller, ConfigError } from '../../base/errors.js'
import { needClock, needOptions } from '../../base/options.js'
import { warn } from '../../base/warnings.js'
import type { Store } from '../contract.js'
import { spaceOf } from '../store-check.js'
import { portOf, type RedisClient, type RedisPort } from './clients/index.js'
import { layoutOf } from './layout.js'
import { replicaWaitOf, type WaitForReplicasOptions } from './replica-wait.js'
import { ScriptStore } from './script-store.js'

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /** The beginning of every key: 1 to 64 letters, digits or `_.:-`. Default: `tollgate`. */
  readonly prefix?: string | undefined
  /**
   * Only for a cluster client: the number of shards that keys are divided into. Requests of one tick for the same shard share
   * one call. Use the same number in all processes: with another number, counts start anew. Default: 16.
   */
  readonly shards?: number | undefined
  /**
   * Holds each decision back until this many replicas have it, so that it survives if one of them becomes the primary. The
   * connection does nothing else meanwhile. If replicas are late, the decision stands, and for the next second none waits.
   * Needs permission for WAIT. Not for a cluster client, nor for a pool or sentinel client of node-redis.
   */
  readonly waitForReplicas?: WaitForReplicasOptions | undefined
  /** For tests: returns the time in ms since 1970, instead of Redis's own clock. Keys then stay an hour longer. */
  readonly now?: (() => number) | undefined
}

/**
 * Makes a store that counts in Redis 6.2 or newer, or in Valkey. All processes with the same server and prefix share the
 * counts, and Redis's own clock decides. Nothing is sent until the first request.
 *
 * @param client from ioredis 5 or 6, iovalkey, or node-redis 5 or 6. It stays yours: close it after the limiter.
 *               docs/operations/redis.md has the settings that it needs. Tollgate warns if one is missing
 * @throws {ConfigError} when it is not a supported client, or an option is wrong or does not fit the client
 * @example
 * const redis = new Redis('redis://127.0.0.1:6379', {
 *   autoResendUnfulfilledCommands: false,
 *   retryStrategy: (times) => Math.min(50 * times, 250),
 * })
 * const limiter = createLimiter({ limit: '100/min', store: redisStore(redis) })
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
  const layout = layoutOf(prefix, port.isCluster, shards)
  const replicas = waitForReplicas === undefined ? undefined : replicaWaitOf(port, waitForReplicas)
  return new ScriptStore(port, layout, { space, now, replicas, onFirst: () => warnOfServer(port) })
}

/** The oldest version that has all commands. */
const NEEDED = [6, 2] as const
const asked = new WeakSet<RedisPort>()

/** Warns once per client about a Redis that is too old or evicts keys. Without permission for INFO there is no warning. */
function warnOfServer(port: RedisPort): void {
  if (asked.has(port)) return
  asked.add(port)
  const ask = (section: string, warningFor: (info: string) => string | undefined): void => {
    port.info(section).then(
      (info) => {
        const warning = warningFor(String(info))
        if (warning !== undefined) warn('TOLLGATE_REDIS_SERVER', warning)
      },
      () => {},
    )
  }
  ask('server', versionWarning)
  ask('memory', evictionWarning)
}

/** The warning if the text of `INFO server` has a version older than the scripts need. */
export function versionWarning(info: string): string | undefined {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)[^\s]*)/m.exec(info) ?? []
  if (version === undefined) return undefined
  const isOld = Number(major) < NEEDED[0] || (Number(major) === NEEDED[0] && Number(minor) < NEEDED[1])
  if (!isOld) return undefined
  return (
    `This Redis is version ${version}, but Tollgate needs ${NEEDED.join('.')} or newer, or Valkey. ` +
    'Requests can fail, and then onStoreFailure decides.'
  )
}

/** The warning if the text of `INFO memory` is from a server that drops keys when it is full. */
export function evictionWarning(info: string): string | undefined {
  const [, maxmemory] = /^maxmemory:(\d+)/m.exec(info) ?? []
  const [, policy] = /^maxmemory_policy:([\w-]+)/m.exec(info) ?? []
  if (!Number(maxmemory) || policy === undefined || policy === 'noeviction') return undefined
  return (
    `This Redis drops keys when it is full (maxmemory-policy ${policy}), which gives a subject its whole quota back. ` +
    'Run CONFIG SET maxmemory-policy noeviction, or give Tollgate its own Redis.'
  )
}
