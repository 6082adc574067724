import { ConfigError } from '../../../base/errors.js'
import { isOptions } from '../../../base/options.js'
import { isRedisClient } from '../../store-check.js'
import { ioredisClusterPort, isIoredisCluster } from './ioredis-cluster.js'
import { ioredisPort, isIoredis, type IoredisClient, type Single } from './ioredis.js'
import { isLegacyNodeRedis, isNodeRedis, nodeRedisPort, type NodeRedisClient } from './node-redis.js'
import type { RedisPort } from './port.js'

export type { IoredisClient } from './ioredis.js'
export type { NodeRedisClient } from './node-redis.js'
export type { RedisPort, ScriptArg } from './port.js'

/** Any client that `redisStore` takes: of ioredis, iovalkey or node-redis. */
export type RedisClient = IoredisClient | NodeRedisClient

/** One port per client, even with several stores, so that listeners are added and warnings given only once. */
const ports = new WeakMap<object, RedisPort>()

/**
 * The adapter (`RedisPort`) through which a store talks to its client.
 *
 * @throws {ConfigError} when it is not a supported client
 */
export function portOf(client: unknown): RedisPort {
  if (typeof client !== 'object' || client === null || client instanceof Promise) throw notAClient(client)
  const known = ports.get(client)
  if (known) return known
  const port = makePort(client)
  ports.set(client, port)
  return port
}

function makePort(client: object): RedisPort {
  if (isIoredis(client)) {
    needRedisAddress(client)
    return isIoredisCluster(client) ? ioredisClusterPort(client) : ioredisPort(client)
  }
  if (isNodeRedis(client)) return nodeRedisPort(client)
  throw notAClient(client)
}

/**
 * Refuses an ioredis client whose address begins with another scheme. ioredis takes that for a host and the rest for a socket's
 * path, so it would never connect.
 */
function needRedisAddress(client: Single): void {
  const { host, path } = client.options ?? {}
  if (typeof host !== 'string' || typeof path !== 'string' || !/^[a-z]+:\/\//i.test(`${host}:${path}`)) return
  const right = "Redis needs redis:// or, with TLS, rediss://: write new Redis('redis://127.0.0.1:6379')"
  throw new ConfigError('redisStore(client)', `the client's address begins with ${host}://, but ${right}`)
}

const CLIENTS =
  'new Redis(url) or new Cluster(nodes) of ioredis or iovalkey, or createClient({ url }), createCluster or ' +
  'createSentinel of node-redis'

function notAClient(given: unknown): ConfigError {
  return ConfigError.wrongSecret('redisStore(client)', given, `a Redis client: ${hintOf(given)}${CLIENTS}`)
}

function hintOf(given: unknown): string {
  if (typeof given === 'string' || given instanceof URL) {
    const isHttp = /^\s*https?:/i.test(String(given))
    const right = isHttp
      ? "Redis does not speak HTTP: write redisStore(new Redis('redis://127.0.0.1:6379'))"
      : 'write redisStore(new Redis(url))'
    return `${right}; a client is `
  }
  if (given instanceof Promise) return 'not a promise (connect() returns one: pass the client itself), '
  if (typeof given === 'function') return 'an instance rather than its class, '
  if (typeof given === 'object' && given !== null && isLegacyNodeRedis(given))
    return 'not its legacy() form, '
  if (typeof given === 'object' && given !== null && 'consume' in given) return 'not a store, but '
  if (isOptions(given) && ('client' in given || 'redis' in given)) return 'not an object around it, '
  if (isRedisClient(given)) return 'one with a connection, not one over HTTP, '
  return ''
}
