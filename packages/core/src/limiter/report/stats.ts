import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { ReservationStats } from '../../features/holds/holds.js'
import type { ListState } from '../../features/rules/list-reader.js'
import type { LeaseStats } from '../../features/leases/lease-reporter.js'
import type { DecisionSource } from '../decision/decision.js'
import type { WaitingStats } from '../waiting/waiting-change.js'

/** What a limiter has done since it was created, and how many requests are pending. */
export interface LimiterStats {
  /**
   * The number of decisions by each source. Requests on an allow or block list and requests that were shed are not
   * counted, because they never reach the limiter.
   */
  readonly decisions: Readonly<Record<Exclude<DecisionSource, 'list' | 'shed'>, DecisionCounts>>
  /** Requests that passed, and that a limit which only observes would have denied. */
  readonly observed: number
  /** Requests, peeks, refunds and resets for which the store failed, and requests that came after `close`. */
  readonly storeErrors: number
  /** Units that were admitted without the store: how many it was charged later, and how many never (`dropped`). */
  readonly reconciled: Reconciled
  /** Subjects that the store forgot while their units still counted. */
  readonly evicted: number
  /** Requests that were refused because this process was overloaded. */
  readonly shed: number
  /** Units that this process took in advance. */
  readonly leases: LeaseStats
  /** Requests that wait in line, on plans with `wait`. */
  readonly waiting: WaitingStats
  /** Reservations made by this process. */
  readonly reservations: ReservationStats
  /** Requests that are waiting for the store. */
  readonly pending: number
  /** Requests in flight in this process that a limit counts. */
  readonly inFlight: number
}

/** How many requests were let in and denied. */
export interface DecisionCounts {
  readonly allowed: number
  readonly denied: number
}

/** Whether the store decides, for a readiness probe. */
export interface LimiterHealth {
  /**
   * `ok`: the store decides, as far as is known. `degraded`: the failure policy decides, at least for some subjects.
   * `closed`: the limiter was closed, and the failure policy decides all requests.
   */
  readonly status: 'ok' | 'degraded' | 'closed'
  /** The shards that get no requests, because their breaker is not closed. A store without shards is shard 0. */
  readonly openShards: readonly number[]
  /**
   * What this process knows of the rules that are set at run time. Left out if the store keeps none.
   * - `unread`: they were not read yet, so none holds here. `current`: they are read every second.
   * - `stale`: the store has been silent for some seconds. Those that were read hold on.
   * - `off`: the store refuses what they need, so none can be set.
   */
  readonly rules?: ListState
}
