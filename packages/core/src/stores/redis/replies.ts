import { reasonOf, StoreError } from '../../base/errors.js'
import { REACTIONS, type Reaction } from './reactions.js'

/** What a client threw, as a fault of the store. */
export function storeErrorOf(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const { reason, says, isOfRequest = false } = reactionTo(textOf(thrown))
  return new StoreError(`${says} (${messageOf(thrown)})`, { reason, isOfRequest, cause: thrown })
}

/** What a script gave in place of the numbers of one request, as a fault. */
export function requestErrorOf(text: string): StoreError {
  const known = REACTIONS.find(({ matches }) => matches.test(text))
  if (known) {
    const { reason, says, isOfRequest = false } = known
    return new StoreError(`${says} (${text})`, { reason, isOfRequest })
  }
  // The others of its batch were decided: it is the value that the script cannot read.
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

interface ErrorLike {
  readonly message: string
  readonly code?: unknown
  readonly lastNodeError?: unknown
  readonly errors?: unknown
}

/** Errors of other realms, and of clients that make their own, are told by what they have. */
function isErrorLike(thrown: unknown): thrown is ErrorLike {
  return (
    typeof thrown === 'object' && thrown !== null && 'message' in thrown && typeof thrown.message === 'string'
  )
}

function messageOf(thrown: unknown): string {
  // Of a host with several addresses: what was met at the first.
  const first: unknown = isErrorLike(thrown) && Array.isArray(thrown.errors) ? thrown.errors[0] : undefined
  if (isErrorLike(first) && first.message !== '') return first.message
  const said = isErrorLike(thrown) ? thrown.message : reasonOf(thrown)
  return said === '' ? codeOf(thrown) : said
}

/** The code or the class, for errors without a message. */
function codeOf(thrown: unknown): string {
  if (!isErrorLike(thrown)) return ''
  return typeof thrown.code === 'string' ? thrown.code : (thrown.constructor?.name ?? '')
}

/** All that tells what it is: some errors have a code or a class of their own, and no message. */
function textOf(thrown: unknown): string {
  // What was met at the last server of a cluster says more than that all of them failed.
  if (isErrorLike(thrown) && isErrorLike(thrown.lastNodeError)) return textOf(thrown.lastNodeError)
  return `${codeOf(thrown)} ${messageOf(thrown)}`
}
