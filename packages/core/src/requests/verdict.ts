import type { StoreError } from '../base/errors.js'
import type { Outcome, StoreRequest } from '../stores/contract.js'
import type { Part, Request } from './request.js'

/** What was answered to a request, or to one step of it, and by what. */
export interface Verdict {
  readonly source: 'store' | 'unlimited' | 'blocked' | 'local' | 'open' | 'closed'
  readonly allowed: boolean
  readonly step: Request
  /** Of the store, or of this process by itself. */
  readonly outcome?: Outcome
  /** What the outcome is of, where that is not every part of the step. */
  readonly parts?: readonly Part[]
  /** Why the store has not decided. */
  readonly error?: StoreError
}

/** What an outcome means. */
export function verdictOf(source: 'store' | 'local', step: Request, outcome: Outcome): Verdict {
  return { source, allowed: isTaken(outcome), step, outcome }
}

/** Whether an outcome of a request with grant `all` took its units. */
export function isTaken({ limits }: Outcome): boolean {
  for (const { wait } of limits) if (wait !== 0) return false
  return true
}

/** Units of each limit that an outcome says were taken. */
export function unitsTaken(
  { grant, parts }: Pick<StoreRequest, 'grant' | 'parts'>,
  outcome: Outcome,
): number {
  if (grant === 'upTo') return outcome.limits[0]?.granted ?? 0
  return isTaken(outcome) ? (parts[0]?.cost ?? 0) : 0
}
