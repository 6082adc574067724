import { foreignText, withoutCredentials, shorten } from '../../../base/show.js'
import { reasonOf, StoreError } from '../../../base/errors.js'
import { REACTIONS, type Reaction } from '../reactions.js'

/** A value thrown by a client, as a fault of the store. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const { reason, says, isOfRequest = false } = reactionTo(textOf(thrown))
  return new StoreError(`${says} (${shortReply(messageOf(thrown))})`, {
    reason,
    isOfRequest,
    cause: causeOf(thrown),
  })
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

/** Shortens a server's reply, which can be long. A client's message is kept longer, since it ends with the reason. */
function shortReply(text: string): string {
  return foreignText(/^[A-Z]{2,} /.test(text) ? shorten(text) : text)
}

export function isNoScript(thrown: unknown): boolean {
  return messageOf(thrown).startsWith('NOSCRIPT')
}

const UNKNOWN = { reason: 'unknown', says: 'Redis could not be asked', isOfRequest: false } as const

function reactionTo(text: string): Pick<Reaction, 'reason' | 'says'> & { readonly isOfRequest?: boolean } {
  return REACTIONS.find(({ matches }) => matches.test(text)) ?? UNKNOWN
}

/**
 * The client's error without secrets, since printing a StoreError prints its cause as well. ioredis keeps the arguments
 * of the failed command on its errors, such as the password of AUTH. If a URL was given as the host name, the message of
 * the failed look-up contains that URL.
 */
function causeOf(thrown: unknown): unknown {
  if (!isErrorLike(thrown)) return thrown
  const { name, message, stack } = thrown as Error
  const shown = withoutCredentials(message)
  if (shown === message && !('command' in thrown || 'lastNodeError' in thrown)) return thrown
  const cause = Object.assign(new Error(shown), { name })
  if (stack !== undefined) cause.stack = stack.replaceAll(message, shown)
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
  // A cluster client only says that all servers failed; the error of the last one says why.
  if (isErrorLike(thrown) && isErrorLike(thrown.lastNodeError)) return messageOf(thrown.lastNodeError)
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
  if (isErrorLike(thrown) && isErrorLike(thrown.lastNodeError)) return textOf(thrown.lastNodeError)
  return `${codeOf(thrown)} ${messageOf(thrown)}`
}
