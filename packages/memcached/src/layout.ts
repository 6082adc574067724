import { createHash } from 'node:crypto'
import type { CompiledLimit } from '@tollgate/core/store'

/** Memcached takes keys of at most 250 bytes without spaces. What follows a subject's key has at most 40. */
const LONGEST_PLAIN = 120

/** The keys of one prefix. A prefix has no slash, so keys of different prefixes never meet. */
export class Layout {
  readonly clock: string
  readonly #prefix: string

  /** @param prefix 1 to 64 letters, digits or `_.:-` */
  constructor(prefix: string) {
    this.#prefix = prefix
    this.clock = `${prefix}/clock`
  }

  /** The beginning of the keys of all windows of a limit. Any other key of the store becomes a hash of fixed length. */
  counter(key: string, { stateId }: CompiledLimit): string {
    const isPlain = key.length <= LONGEST_PLAIN && /^[\w.+\-/|~@#=,^*!]*$/.test(key)
    const name = isPlain ? `=${key}` : `#${hash(key)}`
    return `${this.#prefix}/${name}:${stateId.toString(36)}:`
  }

  /** The key that remembers the answer to a request with this id. */
  id(id: string): string {
    return `${this.#prefix}/id:${id}`
  }
}

function hash(key: string): string {
  // UTF-16, since UTF-8 turns all lone surrogates into the same character, and different keys would become equal.
  return createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('base64url')
}

const LONGEST_RELATIVE_S = 30 * 86_400
/** Longer than processes differ in their clocks. */
const SPARE_S = 10

/**
 * A time to live as Memcached reads it: up to 30 days in seconds from now, above that as a time in seconds since 1970. 0 would
 * be for ever.
 *
 * @param us  for how long, in µs
 * @param nowMs the server's time, in ms
 */
export function timeToLive(us: number, nowMs: number, spareS = 0): number {
  const seconds = Math.ceil(us / 1e6) + SPARE_S + spareS
  return seconds <= LONGEST_RELATIVE_S ? seconds : Math.floor(nowMs / 1000) + seconds
}

/** Memcached reads times in 31 bits: in s since 1970. */
const LAST_S = 2 ** 31 - 1

/** The longest that Memcached can keep what is written now, in ms. */
export function longestTtlMs(nowMs: number): number {
  return LAST_S * 1000 - nowMs - 2 * SPARE_S * 1000
}
