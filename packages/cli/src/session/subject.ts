import { subjectForIp, type Subject } from '@tollgate/core'
import { isHiddenId } from '@tollgate/core/adapter'
import { CommandError, EXIT } from '../errors.js'
import { safeText } from '../output/safe-text.js'

export interface SubjectFlags {
  /** The argument is a client's address. */
  readonly ip?: boolean
  /** The argument is an id, also if a `*` is at its end. */
  readonly exact?: boolean
}

/** What the application says of a customer with each request, beside its id. */
export interface GivenFlags extends SubjectFlags {
  readonly plan?: string
  /** Its billing day: a date, or a day of the month. */
  readonly anchor?: string
  readonly timeZone?: string
}

/** Whom an argument means: as the calls of a limiter take it. */
export function subjectOf(given: string, { ip = false, exact = false }: SubjectFlags): Subject | string {
  if (given === '')
    throw new CommandError(EXIT.usage, 'ID: it is empty. Pass the id that the application counts by.')
  if (!exact && isHiddenId(given))
    throw new CommandError(
      EXIT.usage,
      'ID: this is how lists show an id that is hashed, or that is long or has odd characters. The id cannot be found from it.',
      'Pass the id itself. --exact takes this text for one.',
    )
  if (ip) return subjectForIp(given)
  return exact ? { id: given } : given
}

/**
 * The same with its plan and billing day, for calls that are about one subject. An id alone stays one, so that core refuses it where it
 * says no plan.
 */
export function withGiven(given: string, flags: GivenFlags): Subject | string {
  const subject = flags.exact ? given : subjectOf(given, flags)
  const { plan, anchor, timeZone } = flags
  if (plan === undefined && anchor === undefined && timeZone === undefined) return subject
  // No date is so short.
  const day = anchor !== undefined && /^\d{1,2}$/.test(anchor) ? Number(anchor) : anchor
  const said = {
    ...(plan !== undefined && { plan }),
    ...(day !== undefined && { anchor: day }),
    ...(timeZone !== undefined && { timeZone }),
  }
  return { ...(typeof subject === 'string' ? { id: subject } : subject), ...said }
}

/** For people: safe, and short. */
export function shownSubject(given: string): string {
  return safeText(given)
}
