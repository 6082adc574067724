import { elapsedMs } from '../../base/timers.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { LeaseChange } from '../../features/leases/lease-change.js'
import type { Decision, DecisionSource } from '../decision/decision.js'
import type { WaitingChange } from '../waiting/waiting-change.js'

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
  /** Requests of this process that are in flight, of subjects whose plan limits that. */
  readonly inFlight: number
}

export interface DecisionCounts {
  readonly allowed: number
  readonly denied: number
}

export interface LeaseStats {
  /** Leases that the store granted, and those that it refused since too little was left. */
  readonly granted: number
  readonly refused: number
  /** Of the granted ones, those that followed another of the same subject. */
  readonly renewals: number
  /** Units that were granted: each was used, went back, was lost, or is still held. */
  readonly units: number
  readonly used: number
  readonly returned: number
  /** Units that count as used though no request took them. */
  readonly lost: number
  /** Leases that can be served from now. */
  readonly held: number
}

/** Each request that was booked was admitted, has left, was late or denied as the limiter closed, or waits now. */
export interface WaitingStats {
  readonly now: number
  /** Places that requests got. One that was late can get another. */
  readonly booked: number
  readonly admitted: number
  readonly left: number
  readonly late: number
  readonly closed: number
  /** Requests that did not fit and could not wait: the line was full or too long, or too many wait in this process. */
  readonly refused: number
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
type LeaseCounts = { -readonly [Key in Exclude<keyof LeaseStats, 'held'>]: number }

/** What is counted elsewhere. */
export interface StatsOfNow {
  readonly pending: number
  /** Leases that can be served from. */
  readonly held: number
  readonly inFlight: number
  /** Requests that wait in line. */
  readonly waiting: number
}

/** Counts what a limiter does. */
export class Stats {
  readonly #decisions: Record<keyof LimiterStats['decisions'], Counts> = {
    store: { allowed: 0, denied: 0 },
    place: { allowed: 0, denied: 0 },
    lease: { allowed: 0, denied: 0 },
    cache: { allowed: 0, denied: 0 },
    unlimited: { allowed: 0, denied: 0 },
    blocked: { allowed: 0, denied: 0 },
    local: { allowed: 0, denied: 0 },
    open: { allowed: 0, denied: 0 },
    closed: { allowed: 0, denied: 0 },
  }
  readonly #leases: LeaseCounts = {
    granted: 0,
    refused: 0,
    renewals: 0,
    units: 0,
    used: 0,
    returned: 0,
    lost: 0,
  }
  readonly #waiting = { booked: 0, admitted: 0, left: 0, late: 0, closed: 0, refused: 0 }
  readonly reservations = new ReservationCounts()
  #units = 0
  #dropped = 0
  #storeErrors = 0
  #evicted = 0
  #shed = 0

  decision({ source, allowed }: Decision): void {
    if (source === 'list' || source === 'shed') return
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

  shed(): void {
    this.#shed += 1
  }

  lease({ kind, units }: LeaseChange, isRenewal: boolean): void {
    const counts = this.#leases
    if (kind === 'returned' || kind === 'lost') counts[kind] += units
    else counts[kind] += 1
    if (kind !== 'granted') return
    counts.units += units
    if (isRenewal) counts.renewals += 1
  }

  leaseUsed(units: number): void {
    this.#leases.used += units
  }

  waiting({ kind }: WaitingChange): void {
    this.#waiting[kind] += 1
  }

  refusedPlace(): void {
    this.#waiting.refused += 1
  }

  read({ pending, held, inFlight, waiting }: StatsOfNow): LimiterStats {
    return {
      decisions: structuredClone(this.#decisions),
      storeErrors: this.#storeErrors,
      reconciled: { units: this.#units, dropped: this.#dropped },
      evicted: this.#evicted,
      shed: this.#shed,
      leases: { ...this.#leases, held },
      waiting: { now: waiting, ...this.#waiting },
      reservations: this.reservations.read(),
      pending,
      inFlight,
    }
  }
}

export interface ReservationStats {
  /** Reservations that hold units now. */
  readonly held: number
  /** Each was committed or cancelled, has ended by itself, or is held. */
  readonly made: number
  readonly committed: number
  readonly cancelled: number
}

/** Counts reservations. Those that end by themselves tell nobody, so they are sorted out when there is a reason to look. */
class ReservationCounts {
  readonly #counts = { made: 0, committed: 0, cancelled: 0 }
  /** By when they end, in ms since the process started. */
  #open = new Set<{ readonly endsAtMs: number }>()
  #sortOutAt = 1024

  made(endsAtMs: number): (how: 'committed' | 'cancelled') => void {
    const one = { endsAtMs }
    this.#counts.made += 1
    this.#open.add(one)
    if (this.#open.size > this.#sortOutAt) {
      this.#sortOut()
      this.#sortOutAt = Math.max(1024, 2 * this.#open.size)
    }
    return (how) => {
      this.#open.delete(one)
      this.#counts[how] += 1
    }
  }

  read(): ReservationStats {
    this.#sortOut()
    return { held: this.#open.size, ...this.#counts }
  }

  #sortOut(): void {
    const nowMs = elapsedMs()
    for (const one of this.#open) if (one.endsAtMs <= nowMs) this.#open.delete(one)
  }
}
