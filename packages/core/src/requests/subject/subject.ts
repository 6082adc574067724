import { TollgateError, show } from '../../base/errors.js'
import { nearestOf } from '../../base/options.js'
import { quiet } from '../../base/promises.js'
import { pathIn } from '../../base/show.js'
import type { Subject, SubjectOf } from '../../plans/subject.js'
import { atAddress, isAddress } from './address.js'

/** Who pays for a request: an id, a subject, or a list of these. The limits of all of them must have room. */
export type Subjects<Plans extends string = string> = SubjectOf<Plans> | readonly SubjectOf<Plans>[]

/**
 * Reads a caller's subject: an object, or just an id.
 *
 * @returns undefined when nothing or an empty id was given
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when it is anything else, such as a promise
 */
export function readSubject(given: unknown): Subject | undefined {
  if (isNothing(given)) return undefined
  if (typeof given === 'string') return isAddress(given) ? atAddress({ id: given }) : { id: given }
  if (isId(given)) return atAddress({ id: plainId(given) })
  if (typeof given !== 'object' || !('id' in given)) throw notASubject('', given)
  refuseOthers(given)
  const { id, plan, label, kind, limits } = given as Subject
  if (isNothing(id)) return undefined
  if (!isId(id)) throw notASubject('.id', id)
  if (!isNone(plan) && typeof plan !== 'string') throw notASubject('.plan', plan)
  if (!isNone(limits) && !isNone(plan)) throw bothGiven(plan as string)
  if (label !== undefined && !isLabel(label)) throw notASubject('.label', label)
  if (kind !== undefined && kind !== 'ip' && kind !== 'id') throw notASubject('.kind', kind)
  return atAddress(typeof id === 'bigint' ? { ...(given as Subject), id: plainId(id) } : (given as Subject))
}

/** Undefined or null: rows of a database have null where there is no value. */
export function isNone(given: unknown): given is undefined | null {
  return given === undefined || given === null
}

function isNothing(given: unknown): given is undefined | null | '' {
  return isNone(given) || given === ''
}

/**
 * Refuses unknown properties. A misspelt `plan` would silently put the subject on the default plan. And a whole database
 * row may have a `kind` that means something else.
 */
function refuseOthers(given: object): void {
  // `for in`, since Object.keys would allocate an array, and this runs for every request.
  for (const name in given) {
    if (name === 'id' || name === 'plan' || name === 'kind' || name === 'label' || name === 'limits') continue
    if (name === 'anchor' || name === 'timeZone' || !Object.hasOwn(given, name)) continue
    throw unknownName(given, name)
  }
}

/** More subjects in one request are most likely a mistake, and a burden for the store. */
const MOST_SUBJECTS = 8

/**
 * Reads one subject or several. In a list, `undefined`, `null` and the empty string are left out.
 *
 * @returns at least one, or undefined when all are empty
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
 */
export function readSubjects(given: unknown): readonly [Subject, ...Subject[]] | undefined {
  try {
    return readAll(given)
  } catch (error) {
    quiet(given)
    throw error
  }
}

function readAll(given: unknown): readonly [Subject, ...Subject[]] | undefined {
  if (!Array.isArray(given)) {
    const subject = readSubject(given)
    return subject && [subject]
  }
  if (given.length > MOST_SUBJECTS) {
    const message = `subjects: got a list of ${given.length}, expected at most ${MOST_SUBJECTS} subjects in one request`
    throw new TollgateError('ERR_TOLLGATE_SUBJECT', message)
  }
  const [first, ...rest] = given.map(readListed).filter((subject) => subject !== undefined)
  return first && [first, ...rest]
}

/**
 * Reads one subject of a list. An object without an id is refused: it is most likely a mistake, and leaving it out would
 * spare the request some of its limits.
 */
function readListed(given: unknown, i: number): Subject | undefined {
  const subject = readSubject(given)
  if (subject === undefined && !isNothing(given)) throw emptyId(`subjects[${i}]`, (given as Subject).id)
  return subject
}

function isLabel(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 1 && value.length <= 64
}

/** @throws {TollgateError} ERR_TOLLGATE_SUBJECT */
export function needSubject(given: unknown): Subject {
  const [subject] = (Array.isArray(given) ? undefined : readSubjects(given)) ?? []
  if (subject) return subject
  quiet(given)
  throw noSubject(given)
}

function isId(value: unknown): value is string | number | bigint {
  if (typeof value === 'string' || typeof value === 'bigint') return true
  return typeof value === 'number' && Number.isFinite(value) && !isRounded(value)
}

/** JavaScript cannot hold every whole number beyond 2^53 - 1, so two different ids could become the same number. */
function isRounded(value: number): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** JSON has no bigint, and decisions are often logged with their subject. */
function plainId(id: string | number | bigint): string | number {
  return typeof id === 'bigint' ? String(id) : id
}

const NAMES: readonly (keyof Subject)[] = ['id', 'plan', 'kind', 'label', 'limits', 'anchor', 'timeZone']

function unknownName(given: object, name: string): TollgateError {
  const meant = nearestOf(name, NAMES)
  const message =
    meant === undefined
      ? `subject: got ${show(given)}, expected only the properties of a subject (${NAMES.join(', ')}): return { id: row.id, plan: row.plan }`
      : `${pathIn('subject', name)}: a subject has no such property; did you mean ${meant}?`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}

function bothGiven(plan: string): TollgateError {
  const remedy = 'write only limits, or only plan'
  const message = `subject.limits: the subject has the plan ${show(plan)}, too, and only one can apply: ${remedy}`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}

const EXPECTED = {
  '': "an id such as 'acme', or { id: 'acme', plan: 'pro' }",
  '.id': 'a string, a number or a bigint',
  '.plan': "the name of a plan, such as 'pro'",
  '.label': "a name of 1 to 64 characters, such as 'user'",
  '.kind': "'ip' for a client's address, 'id' for any other id, or nothing",
}

function notASubject(part: keyof typeof EXPECTED, given: unknown): TollgateError {
  const expected = remedyOf(given) ?? EXPECTED[part]
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject${part}: got ${show(given)}, expected ${expected}`)
}

function remedyOf(given: unknown): string | undefined {
  if (given instanceof Promise) return 'the value it resolves to: write await before it'
  if (typeof given === 'number' && isRounded(given)) {
    return 'the id as a string: numbers beyond 2^53 - 1 lose their last digits'
  }
  const isRequest = typeof given === 'object' && given !== null && 'headers' in given
  return isRequest ? 'who pays for the request, such as req.user?.id or subjectForIp(req.ip)' : undefined
}

export function noSubject(given: unknown): TollgateError {
  if (typeof given === 'object' && given !== null && 'id' in given) return emptyId('subject', given.id)
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject: got ${show(given)}, expected ${EXPECTED['']}`)
}

function emptyId(path: string, id: unknown): TollgateError {
  return new TollgateError(
    'ERR_TOLLGATE_SUBJECT',
    `${path}.id: got ${show(id)}, expected an id that is not empty`,
  )
}

/** The error for a subject without limits where there are no plans. */
export function noPlans({ id }: Subject): TollgateError {
  const problem = `${show(String(id))} brings no limits, and there are no plans`
  const remedy = "write { id, limits: ['40/min'] }, or give plans, too"
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject: ${problem}: ${remedy}`)
}
