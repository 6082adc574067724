import { isWhole } from '../../base/options.js'
import { ConfigError } from '../../base/errors.js'

const DEFAULT_SHARDS = 16
const MOST_SHARDS = 1024

/** The first character of the keys that store ids of requests. No key of a subject begins with it. */
const ID_MARKER = '='
/** The beginning of a page's key. No id has a plus. */
const PAGE_MARKER = '=+'
const END_OF_ID = 2

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
  /** The key of a page: it remembers the answers to refunds with this id and with its neighbors. */
  nameOfPage(id: string, shard: number): string
}

/** The two characters by which the ids of a page differ. */
export function endOfId(id: string): string {
  return id.slice(-END_OF_ID).padStart(END_OF_ID)
}

/**
 * Ids of refunds share keys, called pages. In the subject's value they would cost some 20 bytes each, every request would read
 * them, and a reset would forget them. The ids of a page differ only in the last character and in two bits of the one before.
 * Senders count their ids up, so a page holds up to 144 in a row. A larger page would take longer: Redis hands it to the script
 * for each refund.
 */
function pageOf(id: string): string {
  return `${id.slice(0, -END_OF_ID)}${endOfId(id).charCodeAt(0) >> 2}`
}

/** @throws {ConfigError} when `shards` is out of range, or given although the client is not a cluster client */
export function layoutOf(prefix: string, isCluster: boolean, shards: number | undefined): Layout {
  if (!isCluster && shards !== undefined) {
    throw new ConfigError(
      'shards',
      'only a cluster client has shards, and this is not one: leave `shards` out',
    )
  }
  const count = isCluster ? needShards(shards ?? DEFAULT_SHARDS) : undefined
  const beginnings =
    count === undefined ? [`${prefix}/`] : shardTags(count).map((tag) => `${prefix}/{${tag}}/`)
  return {
    shards: count,
    nameOf: (key, shard) => `${beginnings[shard]}${key}`,
    nameOfId: (id, shard) => `${beginnings[shard]}${ID_MARKER}${id}`,
    nameOfPage: (id, shard) => `${beginnings[shard]}${PAGE_MARKER}${pageOf(id)}`,
  }
}

function needShards(shards: number): number {
  if (isWhole(shards, 1, MOST_SHARDS)) return shards
  throw ConfigError.wrong('shards', shards, `a whole number from 1 to ${MOST_SHARDS}`)
}

const HASH_SLOTS = 16_384

/** A key's hash slot in a Redis Cluster: from the text in its first braces or, without braces, from the whole key. */
export function hashSlotFor(key: string): number {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return crc16(open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key) % HASH_SLOTS
}

/** CRC-16/XMODEM of the text in UTF-8, as Redis computes it. */
function crc16(text: string): number {
  let crc = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    // The shards' tags are digits. Making a Buffer of each would take longer than everything else.
    if (code > 127) return Buffer.from(text).reduce(withByte, 0)
    crc = withByte(crc, code)
  }
  return crc
}

function withByte(before: number, byte: number): number {
  let crc = before ^ (byte << 8)
  for (let bit = 0; bit < 8; bit += 1) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  return crc
}

/**
 * One tag per shard. The hash slots are divided evenly among the shards, and each tag's slot lies in the middle half of its
 * shard's part. Tags are part of keys in Redis, so the results must never change.
 */
export function shardTags(count: number): readonly string[] {
  const tags: string[] = new Array(count)
  let found = 0
  for (let n = 0; found < count; n += 1) {
    const share = (crc16(String(n)) % HASH_SLOTS) * (count / HASH_SLOTS)
    const shard = Math.floor(share)
    const position = share - shard
    if (tags[shard] !== undefined || position < 0.25 || position > 0.75) continue
    tags[shard] = String(n)
    found += 1
  }
  return tags
}
