import type { Decision } from '../../limiter/decision/decision.js'
import { TollgateError } from '../../base/errors.js'
import type { HttpAnswer } from '../adapter.js'

/**
 * A denial that goes to the application's error handler, as in Fastify. The headers of the response are set already.
 * Status and body are here, so that the handler can send them, or a text of its own.
 */
export class LimitedError extends TollgateError {
  /**
   * 429; 403 for the block list; 503 when the store could not answer and the failure policy is `closed`, or when the
   * process is overloaded.
   */
  readonly statusCode: number
  /** The same as `statusCode`: some error handlers read this name. */
  readonly status: number
  readonly decision: Decision
  /** The media type of `body`. */
  readonly contentType: string
  /** The body that Tollgate would have sent. */
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

/** Error handlers often send the message to clients, so it does not contain the subject. */
function messageOf({ reason, violated }: Decision): string {
  if (reason === 'blocked') return 'This client is blocked'
  if (reason === 'store-unavailable') return 'Rate limits cannot be checked at the moment'
  if (reason === 'overloaded') return 'This process is overloaded'
  return violated.length > 0
    ? `Over the rate limit: ${violated.join(', ')}`
    : 'Not let pass by the rate limiter'
}
