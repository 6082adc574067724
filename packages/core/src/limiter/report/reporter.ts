import type { StoreError } from '../../base/errors.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { Decision } from '../decision/decision.js'
import type { LeaseListener } from '../../features/fast-path.js'
import type { LeaseChange } from '../../features/leases/lease-change.js'
import type { WaitingChange, WaitingListener } from '../waiting/waiting-change.js'
import type { BreakerChange, EventContext, Events, LimiterEvents, Shed } from './events.js'
import type { StoreListener } from '../../stores/contract.js'
import { Outages, type StoreWarning } from './store-warning.js'
import { toAnswerError } from '../pipeline/store-access.js'
import { Stats, type LimiterStats, type StatsOfNow } from './stats.js'

/** Reports what a limiter does: counts it for `stats`, and emits it as an event. */
export class Reporter implements LeaseListener, WaitingListener, StoreListener {
  readonly #events: Events
  readonly #warning: StoreWarning
  readonly #stats = new Stats()
  readonly #outages = new Outages()

  constructor(events: Events, warning: StoreWarning) {
    this.#events = events
    this.#warning = warning
  }

  /**
   * Counts and emits a decision.
   *
   * @param failed  the error because of which the store decided nothing of the request, or not all of it
   * @param context what the caller said about the request
   */
  decision(decision: Decision, failed: StoreError | undefined, context: EventContext | undefined): void {
    if (failed) this.#events.emit('fallback', decision, failed)
    else if (this.#outages.isOut && decision.source === 'store') this.#mayBeOver()
    this.#stats.decision(decision)
    // Most often nobody listens.
    if (this.#events.hearsDecisions) this.#events.emit('decision', ...argsOf(decision, context))
    if (!decision.allowed && this.#events.hearsDenials) {
      this.#events.emit('limited', ...argsOf(decision, context))
    }
  }

  /**
   * Turns an invalid answer into an error. Reports it, unless the guard did.
   *
   * @param isNew whether nothing can have reported it. What the guard gave was reported, once for a batch
   */
  invalidAnswerError(given: unknown, isNew = false): StoreError {
    const error = toAnswerError(given)
    if (isNew || error !== given) this.storeError(error, 1)
    return error
  }

  storeError(error: StoreError, requests: number): void {
    this.#stats.storeError(requests)
    this.#events.emit('storeError', error, requests)
  }

  onUnreached(error: StoreError): void {
    if (this.#warning.atStart(error)) this.#outages.begin()
  }

  breaker({ state, shard, error }: BreakerChange): void {
    if (state === 'open') this.#outages.open(shard)
    if (state === 'open' && error) this.#warning.failed(error)
    const outage = state === 'closed' ? this.#outages.close(shard) : undefined
    this.#events.emit('breaker', { state, shard, error, ...(outage && { outage }) })
    if (outage) this.#mayBeOver()
  }

  #mayBeOver(): void {
    const outage = this.#outages.end()
    if (outage) this.#warning.over(outage)
  }

  /** A shard that was given up still fails. No request was asked for. */
  failedProbe(error: StoreError, isNews: boolean): void {
    this.#warning.failed(error)
    if (isNews) this.#events.emit('storeError', error, 0)
  }

  reconciled(reconciled: Reconciled, shard?: number): void {
    this.#stats.reconciled(reconciled)
    this.#outages.charge(shard, reconciled)
    this.#events.emit('reconciliation', reconciled)
  }

  onEvicted(subjects: number): void {
    this.#stats.evicted(subjects)
    this.#events.emit('evicted', subjects)
  }

  shed(shed: Shed): void {
    this.#stats.shed()
    this.#events.emit('shed', shed)
  }

  /** @param isRenewal whether the process held a lease of the subject when it asked for this one */
  lease(change: LeaseChange, isRenewal = false): void {
    this.#stats.lease(change, isRenewal)
    this.#events.emit('lease', change)
  }

  /** Units of leases that requests used. No event, since that is every request served from one. */
  leaseUsed(units: number): void {
    this.#stats.leaseUsed(units)
  }

  waiting(change: WaitingChange): void {
    this.#stats.waiting(change)
    this.#events.emit('waiting', change)
  }

  refusedPlace(): void {
    this.#stats.refusedPlace()
  }

  /** A reservation was made. Returns what counts how it ended. */
  reserved(endsAtMs: number): (how: 'committed' | 'cancelled') => void {
    return this.#stats.reservations.made(endsAtMs)
  }

  /** Slots were told again that the store had lost, or may have lost. */
  declaredAgain(subjects: number, slots: number): void {
    this.#events.emit('inFlight', { kind: 'declared', subjects, slots })
  }

  stats(now: StatsOfNow): LimiterStats {
    return this.#stats.read(now)
  }
}

function argsOf(decision: Decision, context: EventContext | undefined): LimiterEvents['decision'] {
  return context ? [decision, context] : [decision]
}
