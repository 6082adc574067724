import { StoreError } from '@tollgate/core'

/** How long a client should stay away, in seconds. */
const RETRY_AFTER_S = '1'

/**
 * The store cannot answer, and `onStoreFailure` is `closed`. Express, Fastify and Nest answer 503 by its status, Hono by
 * its response, unless the application handles it.
 */
export class StoreUnavailableError extends StoreError {
  readonly status = 503
  readonly statusCode = 503
  /** Nest reads the status only where this is said, and sends a text of its own. */
  readonly expose = false
  /** Express sends these with the answer. */
  readonly headers = { 'Retry-After': RETRY_AFTER_S }
  /** What happened, for logs: Fastify sends the message to clients. */
  readonly detail =
    "the store cannot answer, and onStoreFailure is 'closed': nothing was counted for this request"

  /** @param cause the last fault of the store, if it has told of one */
  constructor(cause?: StoreError) {
    super('Service Unavailable: try again later', cause && { cause, reason: cause.reason })
  }

  /** Hono asks an error for its answer. */
  getResponse(): Response {
    return new Response('Service Unavailable', { status: 503, headers: this.headers })
  }
}
