import { TollgateError } from '../../base/errors.js'
import { quiet } from '../../base/promises.js'
import type { Subject, SubjectOf } from '../../plans/subject.js'
import { atAddress } from './address-id.js'
import { isAddress } from './ip.js'
import { bothGiven, emptyId, noSubject, notASubject, unknownName } from './subject-errors.js'
import { isId, plainId } from './subject-id.js'

/** Who pays for a request: an id, a subject, or several of these, whose limits must all have room. */
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

/** As rows of a database have it where there is none. */
export function isNone(given: unknown): given is undefined | null {
  return given === undefined || given === null
}

function isNothing(given: unknown): given is undefined | null | '' {
  return isNone(given) || given === ''
}

/**
 * Refuses unknown properties. A misspelt `plan` would silently put the subject on the default plan. And whoever passes
 * a whole database row may pass a `kind` that means something else.
 */
function refuseOthers(given: object): void {
  // `for in`, since Object.keys would allocate an array, and this runs for every request.
  for (const name in given) {
    if (name === 'id' || name === 'plan' || name === 'kind' || name === 'label' || name === 'limits') continue
    if (Object.hasOwn(given, name)) throw unknownName(given, name)
  }
}

/** More subjects in one request are most likely a mistake, and a burden for the store. */
const MOST_SUBJECTS = 8

/**
 * Reads one subject or several. Of several, `undefined`, `null` and the empty text are left out.
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
 * Reads one subject of a list. An object without an id is refused: it is most likely a mistake, and to leave it out
 * would spare the request one of its limits.
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
