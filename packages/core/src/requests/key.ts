import { createHash, createHmac } from 'node:crypto'
import { fnv1a } from '../base/hash.js'
import type { Subject } from '../plans/subject.js'

const PLAIN_ID = /^[\w.+\-/:|~][\w.+\-/:|~@#=,]{0,63}$/

/** What hides an id: the same text for the same id, and no way back. */
export type HideId = (text: string) => string

/**
 * What all keys of a subject begin with. Short plain ids stand as they are, so that a person finds them in the store;
 * any other is a hash, which is bounded and cannot be mistaken for a plain one. Counters of their own follow it with
 * `*` or `!`, which no plain id holds, and a name.
 *
 * @param hide hashes every id, for stores that must not hold them
 */
export function subjectKey({ id, kind }: Subject, hide?: HideId): string {
  const text = String(id)
  const name = !hide && PLAIN_ID.test(text) ? text : `#${(hide ?? hash)(text)}`
  return kind === 'ip' ? `@${name}` : name
}

/** What stands between the name of a limiter and the rest of a key; in no other key there is one. */
const AFTER_NAME = '^'

/** What the keys of a limiter begin with: nothing, for the one of a store that needs no name. */
export function keysOf(name: string | undefined): string {
  return name === undefined ? '' : name + AFTER_NAME
}

/** The shard that everything of a subject is in, from 0, whatever its keys: so its limits are decided in one step. */
export function shardOf(key: string, shards: number): number {
  return shards === 1 ? 0 : fnv1a(key) % shards
}

function hash(text: string): string {
  // Of the UTF-16 code units: as UTF-8 all lone surrogates would be the same id.
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')
}

/** Hashes with a secret, since short ids could be guessed from a plain hash. */
export function hideWith(secret: string): HideId {
  return (text) => createHmac('sha256', secret).update(Buffer.from(text, 'utf16le')).digest('base64url')
}
