import { ConfigError } from '../../base/errors.js'
import { shardTags } from './slots.js'

const DEFAULT_SHARDS = 16
const MOST_SHARDS = 1024

/** The first character of the keys that store ids of requests. No key of a subject begins with it. */
const ID_MARKER = '='

/**
 * The names of keys in Redis: `PREFIX/KEY`, or on a cluster `PREFIX/{TAG}/KEY` with one tag per shard. A prefix has no
 * slash, so keys under different prefixes never collide.
 */
export interface Layout {
  /** The number of shards; undefined for a single server. */
  readonly shards: number | undefined
  nameOf(key: string, shard: number): string
  /** The key that remembers the answer to a request with this id. */
  nameOfId(id: string, shard: number): string
}

/** @throws {ConfigError} when `shards` is out of range, or given although the client is not a cluster client */
export function layoutOf(prefix: string, isCluster: boolean, shards: number | undefined): Layout {
  if (!isCluster && shards !== undefined) {
    throw new ConfigError('shards', 'only a cluster client has shards, and this is none: leave `shards` out')
  }
  const count = isCluster ? needShards(shards ?? DEFAULT_SHARDS) : undefined
  const beginnings =
    count === undefined ? [`${prefix}/`] : shardTags(count).map((tag) => `${prefix}/{${tag}}/`)
  return {
    shards: count,
    nameOf: (key, shard) => `${beginnings[shard]}${key}`,
    nameOfId: (id, shard) => `${beginnings[shard]}${ID_MARKER}${id}`,
  }
}

function needShards(shards: number): number {
  if (Number.isSafeInteger(shards) && shards >= 1 && shards <= MOST_SHARDS) return shards
  throw ConfigError.wrong('shards', shards, `a whole number from 1 to ${MOST_SHARDS}`)
}
