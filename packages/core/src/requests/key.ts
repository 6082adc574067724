import { fnv1a } from '../base/hash.js'
import { hmacSha256, sha256 } from '../base/platform.js'
import type { Limit } from '../plans/limit/limit.js'
import type { Subject } from '../plans/subject.js'

/** The longest id that is kept as it is, in characters. */
const LONGEST_PLAIN = 64
/** For each ASCII character: 2 if a plain id may have it anywhere, 1 if anywhere but first, 0 if nowhere. */
const PLAIN = Uint8Array.from({ length: 128 }, (_, code) => plainness(String.fromCharCode(code)))

function plainness(character: string): number {
  if (/[\w.+\-/:|~]/.test(character)) return 2
  return /[@#=,]/.test(character) ? 1 : 0
}

/** Whether an id is short and plain. A loop, since it runs for every request and a regular expression takes longer. */
function isPlain(id: string): boolean {
  const { length } = id
  if (length === 0 || length > LONGEST_PLAIN || PLAIN[id.charCodeAt(0)] !== 2) return false
  for (let i = 1; i < length; i += 1) if (!PLAIN[id.charCodeAt(i)]) return false
  return true
}

/** Hashes an id. Equal ids give equal hashes, and the id cannot be read from the hash. */
export type HideId = (text: string) => string

/**
 * The beginning of all keys of a subject. Short plain ids stay readable, so that you can find them in the store. Any other
 * id becomes a hash of fixed length, with a mark so that it cannot equal a plain id. Keys of groups and stacked limits add
 * `*` or `!`, which no plain id contains, and a name.
 *
 * @param hide hashes every id, for stores that must not contain ids
 */
export function subjectKey({ id, kind }: Subject, hide?: HideId): string {
  const text = String(id)
  const name = !hide && isPlain(text) ? text : `#${(hide ?? hash)(text)}`
  return kind === 'ip' ? `@${name}` : name
}

/** Whether a text is how a subject is shown whose id is not: the id cannot be found from it. */
export function isHiddenId(text: string): boolean {
  return /^@?#[\w-]{43}$/.test(text)
}

/** Separates the limiter's name from the rest of a key. It occurs nowhere else in a key. */
const AFTER_NAME = '^'

/** The prefix of all keys of a limiter; empty for a limiter without a name. */
export function keysOf(name: string | undefined): string {
  return name === undefined ? '' : name + AFTER_NAME
}

/** The key of a mark that belongs to a subject's key. No id and no name has a `%`. */
export function markKey(key: string, name: string): string {
  return `${key}%${name}`
}

/**
 * The name of the mark for a share of a limit. The limit is known by its window and capacity. So the mark stays if a plan has other limits
 * before it, and a customer who moves to a larger quota is warned of that. Equal limits are told apart by their order.
 */
export function markName(limits: readonly Limit[], index: number, share: number): string {
  const idOf = ({ compiled, capacity }: Limit): string => `${compiled.stateId}.${capacity}`
  const id = idOf(limits[index] as Limit)
  const before = limits.slice(0, index).filter((other) => idOf(other) === id).length
  return `${id}.${before}.${share}`
}

/** The shard of a subject, from 0. All its keys are in one shard, so that its limits are decided in one step. */
export function shardOf(key: string, shards: number): number {
  return shards === 1 ? 0 : fnv1a(key) % shards
}

function hash(text: string): string {
  // UTF-16, since UTF-8 turns all lone surrogates into one character: different ids would get the same hash.
  return sha256(text, 'utf16le')
}

/** Makes a function that hashes ids with a secret. Without a secret, short ids could be guessed from their hash. */
export function hideWith(secret: string): HideId {
  return (text) => hmacSha256(secret, text)
}

/** A subject's key is needed to look for its rules and again to count it, and a hash takes longer than all else. */
export function rememberLast(hide: HideId): HideId {
  let last: readonly [text: string, hidden: string] | undefined
  return (text) => {
    if (last?.[0] !== text) last = [text, hide(text)]
    return last[1]
  }
}
