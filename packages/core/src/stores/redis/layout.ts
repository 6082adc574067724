import { ConfigError } from '../../base/errors.js'
import { shardTags } from './slots.js'

const DEFAULT_SHARDS = 16
const MOST_SHARDS = 1024

/** No key of a subject begins so. */
const ID_MARKER = '='

/** Where keys are: `PREFIX/KEY`, or on a cluster `PREFIX/{TAG}/KEY` with one tag a shard. No prefix holds a slash, so that
 * no id under one can be the key of another under a longer one. */
export interface Layout {
  /** Undefined where there is one server. */
  readonly shards: number | undefined
  nameOf(key: string, shard: number): string
  /** Where it is remembered what was answered to a request with this id. */
  nameOfId(id: string, shard: number): string
}

/** @throws {ConfigError} when `shards` is no number of shards, or given where there is one server */
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
