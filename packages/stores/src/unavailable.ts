import { StoreError } from '@tollgate/core'

/** When clients should try again, in seconds. */
const RETRY_AFTER_S = '1'

/**
 * The error for a request that the store cannot count while `onStoreFailure` is `closed`. Express, Fastify, Nest and Hono answer it
 * with 503, unless the application handles it.
 */
export class StoreUnavailableError extends StoreError {
  /** The answer's status, for Express. */
  readonly status = 503
  /** The answer's status, for Fastify and Nest. */
  readonly statusCode = 503
  /** Nest reads the status only if this is set, and sends its own text. */
  readonly expose = false
  /** The answer's headers, for Express and Hono. */
  readonly headers = { 'Retry-After': RETRY_AFTER_S }
  /** What happened, for logs. It is not in the message, which Fastify sends to clients. */
  readonly detail =
    "the store cannot answer, and onStoreFailure is 'closed': nothing was counted for this request"

  /** @param cause the store's latest error, if there was one */
  constructor(cause?: StoreError) {
    super('Service Unavailable: try again later', cause && { cause, reason: cause.reason })
  }

  /** Makes the answer, for Hono. */
  getResponse(): Response {
    return new Response('Service Unavailable', { status: 503, headers: this.headers })
  }
}
