import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import type { Outcome } from '../stores/contract.js'

/**
 * A source of decisions that needs no store. The pipeline tries each before the breaker, passes it the store's
 * outcomes, and sends the requests it has due. It knows nothing else of the pipeline.
 */
export interface FastPath {
  /** Whether it answers only requests without parts, which no limit counts. It is not asked for others then. */
  readonly ofUncounted?: true
  /**
   * The verdict if it is known, else undefined. Called for every request: must be quick, and never throw.
   *
   * @param isPeek whether the caller only looks: then it wants all that the store knows
   */
  answer(request: Request, isPeek: boolean): Verdict | undefined
  /**
   * Called with the store's outcome for any request, also for those from `due`.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started (`elapsedMs`). The outcome is no older, so
   *                 one that was sent before `forget` was called may be of before that. 0 from a synchronous store, whose
   *                 outcomes are of now
   */
  learn?(request: Request, outcome: Outcome, sentAtMs: number): void
  /** Called after subjects were reset or got units back, in this process: forget what is known of these keys. */
  forget?(keys: readonly string[]): void
  /** Requests that the fast path itself needs sent to the store now. Called after each outcome of the store. */
  due?(): readonly Request[]
}
