import type { Verdict } from '../../requests/verdict.js'

/** How a decision was made. */
export interface Origin {
  readonly isPeek: boolean
  /** The pipeline that decided; no other may give the units back. */
  readonly by: object
  /** Of every step that was asked; the first denial decides. Not used when the store decided the request in one. */
  readonly verdicts: readonly Verdict[]
}
