import { show, TollgateError } from '../base/errors.js'
import type { Subject } from '../plans/subject.js'
import { IPV6_PREFIX, ipSubject, isAddress } from './ip.js'

/** Who pays for a request: an id, a subject, or several, whose limits must all have room. */
export type Subjects = Subject | string | readonly (Subject | string)[]

/**
 * Reads what a caller gave as a subject: a subject, or just its id.
 *
 * @returns undefined when there is none: nothing given, or an empty id
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when it is something else, such as a promise
 */
function readSubject(given: unknown): Subject | undefined {
  if (given === undefined || given === null || given === '') return undefined
  if (isId(given)) return isAddressId(given) ? asAddress({ id: given }) : { id: given }
  if (typeof given !== 'object' || !('id' in given)) throw notASubject('', given)
  const { id, plan, label, kind } = given as Subject
  if (id === undefined || id === null || id === '') return undefined
  if (!isId(id)) throw notASubject('.id', id)
  if (plan !== undefined && plan !== null && typeof plan !== 'string') throw notASubject('.plan', plan)
  if (label !== undefined && !isLabel(label)) throw notASubject('.label', label)
  if (!KINDS.includes(kind)) throw notASubject('.kind', kind)
  return kind === undefined && isAddressId(id) ? asAddress(given as Subject) : (given as Subject)
}

/** Subjects whose id was written as an address, each with how it was given. */
const written = new WeakMap<Subject, Subject>()

/**
 * An id that is an address is that client: as a text every address of an IPv6 network would be a subject of its own,
 * and whoever has the network would not be limited at all.
 */
function asAddress(given: Subject): Subject {
  const subject: Subject = { ...given, id: ipSubject(String(given.id), IPV6_PREFIX), kind: 'ip' }
  written.set(subject, given)
  return subject
}

/** As its caller wrote it, where that was an id that is an address; else undefined. */
export function asWritten(subject: Subject): Subject | undefined {
  return subject.kind === 'ip' ? written.get(subject) : undefined
}

function isAddressId(id: string | number): boolean {
  return typeof id === 'string' && isAddress(id)
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

/** @throws {TollgateError} ERR_TOLLGATE_SUBJECT */
export function needSubject(given: unknown): Subject {
  const subject = readSubject(given)
  if (subject) return subject
  throw noSubject(given)
}

export function noSubject(given: unknown): TollgateError {
  const message = `subject: got ${show(given)}, expected an id that is not empty`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}
