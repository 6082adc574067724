import { show, TollgateError } from '../base/errors.js'
import type { Subject } from '../plans/subject.js'

/** Who pays for a request: an id, a subject, or several of these, whose limits must all have room. */
export type Subjects = Subject | string | readonly (Subject | string)[]

/**
 * Reads a caller's subject: an object, or just an id.
 *
 * @returns undefined when nothing or an empty id was given
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when it is anything else, such as a promise
 */
function readSubject(given: unknown): Subject | undefined {
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

/** More subjects in one request are most likely a mistake, and a burden for the store. */
const MOST_SUBJECTS = 8

/**
 * Reads one subject or several. Empty ones are left out.
 *
 * @returns at least one, or undefined when all are empty
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

/** JavaScript cannot hold every whole number beyond 2^53 - 1, so two different ids could become the same number. */
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
  // A rejection of the promise must not end the process.
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
