import type { LeaseState } from './held-lease.js'

/** What a holder holds and waits for, beside the message that is under way. */
export interface HolderState {
  readonly leases: readonly LeaseState[]
  readonly unanswered: readonly object[]
  readonly isRetired: boolean
  readonly pausedUntilMs: number
  readonly forgottenAtMs: number
  readonly tripMs: number
  readonly dueBelow: number
  readonly dueAtMs: number
}
