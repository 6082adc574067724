import type { Decision } from '../limiter/decision.js'
import { TollgateError } from '../base/errors.js'
import type { HttpAnswer } from './adapter.js'

/**
 * A denial, where a framework hands it to the error handler of the application. The headers of the answer are set by
 * then; its status and body are here, so that a handler can send them or words of its own.
 */
export class LimitedError extends TollgateError {
  /** Such as 429; 503 when the store could not answer and the failure policy is `closed`. */
  readonly statusCode: number
  /** The same, by the name that some handlers read. */
  readonly status: number
  readonly decision: Decision
  /** The media type of `body`. */
  readonly contentType: string
  /** What Tollgate would have sent. */
  readonly body: string

  constructor({ status, contentType, body, decision }: HttpAnswer) {
    super('ERR_TOLLGATE_LIMITED', messageOf(decision))
    this.statusCode = status
    this.status = status
    this.decision = decision
    this.contentType = contentType
    this.body = body
  }
}

/** Handlers often show the message to clients, so it says nothing of the subject. */
function messageOf({ reason, violated }: Decision): string {
  if (reason === 'blocked') return 'This client is blocked'
  if (reason === 'store-unavailable') return 'Rate limits cannot be checked at the moment'
  return violated.length > 0
    ? `Over the rate limit: ${violated.join(', ')}`
    : 'Not let pass by the rate limiter'
}
