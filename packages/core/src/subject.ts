import { createHash } from 'node:crypto'
import { show, TollgateError } from './errors.js'

/** Who a request counts against. */
export interface Subject {
  /** A tenant, subscription, user or API key. Any text of any length; a number is read as its digits. */
  readonly id: string | number
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: string | undefined
  /** `ip` for a client's address, which is never confused with an id that looks the same. */
  readonly kind?: 'id' | 'ip' | undefined
}

/**
 * Reads what a caller gave as a subject: a subject, or just its id.
 *
 * @returns undefined when there is none: nothing given, or an empty id
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when it is something else, such as a promise
 */
export function readSubject(given: unknown): Subject | undefined {
  if (given === undefined || given === null || given === '') return undefined
  if (isId(given)) return { id: given }
  if (typeof given !== 'object' || !('id' in given)) throw notASubject('', given)
  const { id, plan } = given as Subject
  if (id === undefined || id === null || id === '') return undefined
  if (!isId(id)) throw notASubject('.id', id)
  if (plan !== undefined && plan !== null && typeof plan !== 'string') throw notASubject('.plan', plan)
  return given as Subject
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

function notASubject(part: string, given: unknown): TollgateError {
  const expected =
    part === '.plan' ? 'the name of a plan' : part === '.id' ? 'a string' : 'an id or { id, plan }'
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject${part}: got ${show(given)}, expected ${expected}`)
}

/** On a cluster, the requests of one tick fall into this many slots at most. */
const SHARDS = 64
const PLAIN_ID = /^[\w.+\-/:|~][\w.+\-/:|~@#=,]{0,63}$/

/**
 * The key of a subject below a store's prefix: `{12}:acme`. Short plain ids stand as they are, so that a person
 * finds them in Redis; any other is a hash, which is bounded and cannot be mistaken for a plain one. The shard
 * in braces is all that a cluster looks at.
 */
export function subjectKey({ id, kind }: Subject): string {
  const text = String(id)
  const name = PLAIN_ID.test(text) ? text : `#${hash(text)}`
  return `{${shardOf(text)}}:${kind === 'ip' ? `@${name}` : name}`
}

function hash(text: string): string {
  // Of the UTF-16 code units: as UTF-8 all lone surrogates would be the same id.
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')
}

/** FNV-1a, of a prefix that tells ids apart well enough to spread them. */
function shardOf(text: string): number {
  let sum = 0x811c9dc5
  const length = Math.min(text.length, 64)
  for (let i = 0; i < length; i += 1) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return (sum >>> 0) % SHARDS
}
