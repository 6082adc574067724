import { show, TollgateError } from '../../base/errors.js'
import { nearestOf } from '../../base/options.js'
import { pathIn } from '../../base/show.js'
import type { Subject } from '../../plans/subject.js'
import { isRounded } from './subject-id.js'

const NAMES: readonly string[] = ['id', 'plan', 'kind', 'label', 'limits'] satisfies (keyof Subject)[]

export function unknownName(given: object, name: string): TollgateError {
  const meant = nearestOf(name, NAMES)
  const message =
    meant === undefined
      ? `subject: got ${show(given)}, expected only what a subject has: return { id: row.id, plan: row.plan }`
      : `${pathIn('subject', name)}: a subject has no such property; did you mean ${meant}?`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}

export function bothGiven(plan: string): TollgateError {
  const remedy = 'write limits alone where they stand in a contract, or plan alone'
  const message = `subject.limits: the subject has the plan ${show(plan)}, too, and only one can apply: ${remedy}`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}

const EXPECTED = {
  '': "an id such as 'acme', or { id: 'acme', plan: 'pro' }",
  '.id': 'a string, a number or a bigint',
  '.plan': "the name of a plan, such as 'pro'",
  '.label': "a name of 1 to 64 characters, such as 'user'",
  '.kind': "'ip' for a client's address, else nothing",
}

export function notASubject(part: keyof typeof EXPECTED, given: unknown): TollgateError {
  const expected = remedyOf(given) ?? EXPECTED[part]
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject${part}: got ${show(given)}, expected ${expected}`)
}

function remedyOf(given: unknown): string | undefined {
  if (given instanceof Promise) return 'what it resolves with: write await before it'
  if (typeof given === 'number' && isRounded(given)) {
    return 'the id as a string: numbers beyond 2^53 - 1 lose their last digits'
  }
  const isRequest = typeof given === 'object' && given !== null && 'headers' in given
  return isRequest ? 'who pays for the request, such as req.user?.id or subjectOfIp(req.ip)' : undefined
}

export function noSubject(given: unknown): TollgateError {
  if (typeof given === 'object' && given !== null && 'id' in given) return emptyId('subject', given.id)
  return new TollgateError('ERR_TOLLGATE_SUBJECT', `subject: got ${show(given)}, expected ${EXPECTED['']}`)
}

export function emptyId(path: string, id: unknown): TollgateError {
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
