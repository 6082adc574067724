import type { Decision, DecisionSource } from './decision.js'
import type { Reconciled } from '../failure/reconciliation.js'

/** What a limiter has done since it was made, and where it stands. */
export interface LimiterStats {
  /** Requests decided, by what decided them. Those on a list are decided before the limiter is asked. */
  readonly decisions: Readonly<Record<Exclude<DecisionSource, 'list'>, DecisionCounts>>
  /** Requests, peeks, refunds and resets that the store failed, or that came after `close`. */
  readonly storeErrors: number
  /** Units admitted beside the store that it was told of, and those that it will not be. */
  readonly reconciled: Reconciled
  /** Subjects that the store forgot while their units still counted. */
  readonly evicted: number
  /** Requests that wait for the store. */
  readonly pending: number
}

export interface DecisionCounts {
  readonly allowed: number
  readonly denied: number
}

/** For a readiness probe. */
export interface LimiterHealth {
  /**
   * `ok`: the store decides, as far as is known. `degraded`: the failure policy does, for some subjects at least.
   * `closed`: the limiter was closed, and the policy decides for all.
   */
  readonly status: 'ok' | 'degraded' | 'closed'
  /** The shards of the store that are not asked; 0 is the whole of a store that has one. */
  readonly openShards: readonly number[]
}

type Counts = { -readonly [Key in keyof DecisionCounts]: number }

/** Counts what a limiter does. */
export class Stats {
  readonly #decisions: Record<keyof LimiterStats['decisions'], Counts> = {
    store: { allowed: 0, denied: 0 },
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
    this.#decisions[source][allowed ? 'allowed' : 'denied'] += 1
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
