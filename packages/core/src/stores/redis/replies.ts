import { reasonOf, StoreError } from '../../base/errors.js'
import { REACTIONS, type Reaction } from './reactions.js'

/** A value thrown by a client, as a fault of the store. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const { reason, says, isOfRequest = false } = reactionTo(textOf(thrown))
  return new StoreError(`${says} (${messageOf(thrown)})`, { reason, isOfRequest, cause: causeOf(thrown) })
}

/** An error text that a script returned for one request, as a fault of the store. */
export function requestErrorOf(text: string): StoreError {
  const known = REACTIONS.find(({ matches }) => matches.test(text))
  if (known) {
    const { reason, says, isOfRequest = false } = known
    return new StoreError(`${says} (${text})`, { reason, isOfRequest })
  }
  // Other requests of the batch were decided, so the fault is in this key's value.
  const says = 'the key of this request holds a damaged value; delete it'
  return new StoreError(`${says} (${text})`, { reason: 'foreign-value', isOfRequest: true })
}

export function isNoScript(thrown: unknown): boolean {
  return messageOf(thrown).startsWith('NOSCRIPT')
}

const UNKNOWN = { reason: 'unknown', says: 'Redis could not be asked', isOfRequest: false } as const

function reactionTo(text: string): Pick<Reaction, 'reason' | 'says'> & { readonly isOfRequest?: boolean } {
  return REACTIONS.find(({ matches }) => matches.test(text)) ?? UNKNOWN
}

/**
 * The cause for a fault of the store. Whoever prints the fault prints its cause, too. But ioredis puts the failed
 * command with its arguments on an error, such as the password of AUTH or ids of subjects. So such an error is copied
 * without them.
 */
function causeOf(thrown: unknown): unknown {
  if (!isErrorLike(thrown) || !('command' in thrown || 'lastNodeError' in thrown)) return thrown
  const { name, message, stack } = thrown as Error
  const cause = Object.assign(new Error(message), { name })
  if (stack !== undefined) cause.stack = stack
  return cause
}

interface ErrorLike {
  readonly message: string
  readonly code?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: unknown
}

/** Not `instanceof`: errors of other realms and of some clients are not instances of this Error. */
function isErrorLike(thrown: unknown): thrown is ErrorLike {
  return (
    typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string'
  )
}

function messageOf(thrown: unknown): string {
  // For a host with several addresses, the error of the first address says most.
  const first: unknown = isErrorLike(thrown) && Array.isArray(thrown.errors) ? thrown.errors[0] : undefined
  if (isErrorLike(first) && first.message !== '') return first.message
  const said = isErrorLike(thrown) ? thrown.message : reasonOf(thrown)
  return said === '' ? codeOf(thrown) : said
}

/** The code, or else the class, of an error: for errors without a message. */
function codeOf(thrown: unknown): string {
  if (!isErrorLike(thrown)) return ''
  return typeof thrown.code === 'string' ? thrown.code : (thrown.constructor?.name ?? '')
}

/** The text that reactions match against: some errors are known by their code or class, and have no message. */
function textOf(thrown: unknown): string {
  // A cluster client only says that all servers failed; the error of the last one says why.
  if (isErrorLike(thrown) && isErrorLike(thrown.lastNodeError)) return textOf(thrown.lastNodeError)
  return `${codeOf(thrown)} ${messageOf(thrown)}`
}
