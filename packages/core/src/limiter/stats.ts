import type { Decision, DecisionSource } from './decision.js'
import type { Reconciled } from '../failure/reconciliation.js'

/** What a limiter has done since it was created, and how many requests are pending. */
export interface LimiterStats {
  /**
   * The number of requests for each source of their decision. Decisions by a list are not counted: they never reach the
   * limiter.
   */
  readonly decisions: Readonly<Record<Exclude<DecisionSource, 'list'>, DecisionCounts>>
  /** Requests, peeks, refunds and resets at which the store failed, or that came after `close`. */
  readonly storeErrors: number
  /** Units admitted without the store: charged to it later, or never (`dropped`). */
  readonly reconciled: Reconciled
  /** Subjects that the store forgot while their units still counted. */
  readonly evicted: number
  /** Requests that are waiting for the store. */
  readonly pending: number
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

type Counts = { -readonly [Key in keyof DecisionCounts]: number }

/** Counts what a limiter does. */
export class Stats {
  readonly #decisions: Record<keyof LimiterStats['decisions'], Counts> = {
    store: { allowed: 0, denied: 0 },
    cache: { allowed: 0, denied: 0 },
    lease: { allowed: 0, denied: 0 },
    unlimited: { allowed: 0, denied: 0 },
    blocked: { allowed: 0, denied: 0 },
    local: { allowed: 0, denied: 0 },
    open: { allowed: 0, denied: 0 },
    closed: { allowed: 0, denied: 0 },
  }
  #units = 0
  #dropped = 0
  #storeErrors = 0
  #evicted = 0

  decision({ source, allowed }: Decision): void {
    if (source === 'list') return
    const counts = this.#decisions[source]
    if (allowed) counts.allowed += 1
    else counts.denied += 1
  }

  storeError(requests: number): void {
    this.#storeErrors += requests
  }

  reconciled({ units, dropped }: Reconciled): void {
    this.#units += units
    this.#dropped += dropped
  }

  evicted(subjects: number): void {
    this.#evicted += subjects
  }

  read(pending: number): LimiterStats {
    return {
      decisions: structuredClone(this.#decisions),
      storeErrors: this.#storeErrors,
      reconciled: { units: this.#units, dropped: this.#dropped },
      evicted: this.#evicted,
      pending,
    }
  }
}
