import { ConfigError } from '../../base/errors.js'
import { shardOf, shardTags } from './slots.js'

const DEFAULT_SHARDS = 16
const MOST_SHARDS = 1024

/** Where keys are: `PREFIX:KEY`, or on a cluster `PREFIX:{TAG}:KEY`, by a fixed number of tags. */
export interface Layout {
  readonly shards: number
  shardOf(key: string): number
  nameOf(key: string): string
}

/** @throws {ConfigError} when `shards` is no number of shards, or given where there is one server */
export function layoutOf(prefix: string, isCluster: boolean, shards: number | undefined): Layout {
  if (isCluster) return clusterLayout(prefix, needShards(shards ?? DEFAULT_SHARDS))
  if (shards !== undefined) {
    throw new ConfigError('shards', shards, 'it to be left out: only keys of a cluster client are in shards')
  }
  return { shards: 1, shardOf: () => 0, nameOf: (key) => `${prefix}:${key}` }
}

function clusterLayout(prefix: string, shards: number): Layout {
  const beginnings = shardTags(shards).map((tag) => `${prefix}:{${tag}}:`)
  const shard = (key: string): number => shardOf(key, shards)
  return { shards, shardOf: shard, nameOf: (key) => `${beginnings[shard(key)]}${key}` }
}

function needShards(shards: number): number {
  if (Number.isSafeInteger(shards) && shards >= 1 && shards <= MOST_SHARDS) return shards
  throw new ConfigError('shards', shards, `a whole number from 1 to ${MOST_SHARDS}`)
}
