import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { ReservationStats } from '../../features/holds/holds.js'
import type { LeaseStats } from '../../features/leases/lease-reporter.js'
import type { DecisionSource } from '../decision/decision.js'
import type { WaitingStats } from '../waiting/waiting-change.js'

/** What a limiter has done since it was created, and how many requests are pending. */
export interface LimiterStats {
  /**
   * The number of requests for each source of their decision. Decisions by a list and requests that were shed are not
   * counted: they never reach the limiter.
   */
  readonly decisions: Readonly<Record<Exclude<DecisionSource, 'list' | 'shed'>, DecisionCounts>>
  /** Requests, peeks, refunds and resets at which the store failed, or that came after `close`. */
  readonly storeErrors: number
  /** Units admitted without the store: charged to it later, or never (`dropped`). */
  readonly reconciled: Reconciled
  /** Subjects that the store forgot while their units still counted. */
  readonly evicted: number
  /** Requests that were refused since this process is overloaded. */
  readonly shed: number
  /** Units that this process took in advance. */
  readonly leases: LeaseStats
  /** Requests that wait in line, on plans with `wait`. */
  readonly waiting: WaitingStats
  readonly reservations: ReservationStats
  /** Requests that are waiting for the store. */
  readonly pending: number
  /** Requests in flight in this process, of subjects whose plan limits them. */
  readonly inFlight: number
}

export interface DecisionCounts {
  readonly allowed: number
  readonly denied: number
}

/** For a readiness probe. */
export interface LimiterHealth {
  /**
   * `ok`: the store decides, as far as is known. `degraded`: for some subjects at least the failure policy decides.
   * `closed`: the limiter was closed, and the policy decides all requests.
   */
  readonly status: 'ok' | 'degraded' | 'closed'
  /** The shards that get no requests since their breaker is not closed. A store without shards is shard 0. */
  readonly openShards: readonly number[]
}
