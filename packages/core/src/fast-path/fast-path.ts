import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import type { Outcome } from '../stores/contract.js'

/**
 * A source of decisions that needs no store. The pipeline tries each before the breaker, passes it the store's
 * outcomes, and sends the requests it has due. It knows nothing else of the pipeline.
 */
export interface FastPath {
  /** The verdict if it is known, else undefined. Called for every request: must be quick, and never throw. */
  answer(request: Request): Verdict | undefined
  /** Called with the store's outcome for any request, also for those from `due`. */
  learn?(request: Request, outcome: Outcome): void
  /** Called when subjects were reset: forget what is known of these keys. */
  forget?(keys: readonly string[]): void
  /** Requests that the fast path itself needs sent to the store now. Called after each outcome of the store. */
  due?(): readonly Request[]
}
