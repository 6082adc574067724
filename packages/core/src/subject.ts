import { createHash, createHmac } from 'node:crypto'
import { show, TollgateError } from './errors.js'

/** Who a request counts against. */
export interface Subject {
  /**
   * A tenant, subscription, user or API key. Any text of any length; a number is read as its digits, up to 2^53 - 1.
   * Give longer ones as a string: JavaScript has rounded them, and two tenants would be one.
   */
  readonly id: string | number
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: string | undefined
  /** `ip` for a client's address, which is never confused with an id that looks the same. */
  readonly kind?: 'id' | 'ip' | undefined
  /** What its limits are called by, where a request has several subjects: `user.minute`. Default: its plan's name. */
  readonly label?: string | undefined
}

/** Who pays for a request: an id, a subject, or several, whose limits must all have room. */
export type Subjects = Subject | string | readonly (Subject | string)[]

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
  const { id, plan, label, kind } = given as Subject
  if (id === undefined || id === null || id === '') return undefined
  if (!isId(id)) throw notASubject('.id', id)
  if (plan !== undefined && plan !== null && typeof plan !== 'string') throw notASubject('.plan', plan)
  if (label !== undefined && !isLabel(label)) throw notASubject('.label', label)
  if (!KINDS.includes(kind)) throw notASubject('.kind', kind)
  return given as Subject
}

/** More subjects than this in one request is a mistake, and a burden for the store. */
const MOST_SUBJECTS = 8

/**
 * Reads one subject or several; those that are empty are left out.
 *
 * @returns at least one, or undefined when there is none
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
 */
export function readSubjects(given: unknown): readonly [Subject, ...Subject[]] | undefined {
  if (!Array.isArray(given)) {
    const subject = readSubject(given)
    return subject && [subject]
  }
  if (given.length > MOST_SUBJECTS) throw notASubject('s', given)
  const [first, ...rest] = given.map(readSubject).filter((subject) => subject !== undefined)
  return first && [first, ...rest]
}

function isId(value: unknown): value is string | number {
  return (
    typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value) && !isRounded(value))
  )
}

/** Beyond 2^53 - 1 several whole numbers that were written are one that JavaScript holds. */
function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function isLabel(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= 64
}

const KINDS: readonly unknown[] = [undefined, 'id', 'ip'] satisfies Subject['kind'][]

const EXPECTED = {
  '': 'an id or { id, plan }',
  s: `at most ${MOST_SUBJECTS}`,
  '.id': 'a string',
  '.plan': 'the name of a plan',
  '.label': 'a name of 1 to 64 characters',
  '.kind': "'id' or 'ip'",
}

function notASubject(part: keyof typeof EXPECTED, given: unknown): TollgateError {
  // That it may reject, too, must not end the process.
  if (given instanceof Promise) given.catch(() => {})
  const expected =
    typeof given === 'number' && isRounded(given)
      ? 'the id as a string: numbers beyond 2^53 - 1 lose their last digits'
      : EXPECTED[part]
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject${part}: got ${show(given)}, expected ${expected}`)
}

/** On a cluster, the requests of one tick fall into this many slots at most. */
const SHARDS = 64
const PLAIN_ID = /^[\w.+\-/:|~][\w.+\-/:|~@#=,]{0,63}$/

/** What hides an id: the same text for the same id, and no way back. */
export type HideId = (text: string) => string

/**
 * The key of a subject below a store's prefix: `{12}:acme`. Short plain ids stand as they are, so that a person
 * finds them in Redis; any other is a hash, which is bounded and cannot be mistaken for a plain one. The shard
 * in braces is all that a cluster looks at, so a subject's keys are in one slot.
 *
 * @param scope what follows for counters of their own: `*` or `!`, which no plain id holds, and a name
 * @param hide  hashes every id, for stores that must not hold them
 */
export function subjectKey({ id, kind }: Subject, scope = '', hide?: HideId): string {
  const text = hide ? hide(String(id)) : String(id)
  const name = !hide && PLAIN_ID.test(text) ? text : `#${hide ? text : hash(text)}`
  return `{${shardOf(text)}}:${kind === 'ip' ? `@${name}` : name}${scope}`
}

function hash(text: string): string {
  // Of the UTF-16 code units: as UTF-8 all lone surrogates would be the same id.
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('base64url')
}

/** Hashes with a secret, since short ids could be guessed from a plain hash. */
export function hideWith(secret: string): HideId {
  return (text) => createHmac('sha256', secret).update(Buffer.from(text, 'utf16le')).digest('base64url')
}

/** FNV-1a, of a prefix that tells ids apart well enough to spread them. */
function shardOf(text: string): number {
  let sum = 0x811c9dc5
  const length = Math.min(text.length, 64)
  for (let i = 0; i < length; i += 1) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return (sum >>> 0) % SHARDS
}
