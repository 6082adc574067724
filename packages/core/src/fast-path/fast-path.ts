import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import type { Outcome } from '../stores/contract.js'

/**
 * Answers that need no store. The pipeline asks each in turn before the breaker, tells it what the store said, and
 * sends what it wants to know of its own. All it knows of the pipeline are these four.
 */
export interface FastPath {
  /** The answer, where it is known; undefined: ask the next, or the store. Must be quick, and never throw. */
  answer(request: Request): Verdict | undefined
  /** What the store said of a request, or of one that was `due`. */
  learn?(request: Request, outcome: Outcome): void
  /** Subjects were reset: what is known of their keys no longer holds. */
  forget?(keys: readonly string[]): void
  /** Requests of its own that are to be sent now, asked for after each answer of the store. Their answers are learnt. */
  due?(): readonly Request[]
}
