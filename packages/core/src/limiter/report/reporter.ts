import type { StoreError } from '../../base/errors.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { Decision } from '../decision/decision.js'
import type { BreakerChange, ChangeEvents, EventContext, Events, LimiterEvents, Shed } from './events.js'
import type { StoreListener } from '../../stores/contract.js'
import { Outages, type StoreWarning } from './store-warning.js'
import { toAnswerError } from '../pipeline/store-access.js'
import type { LimiterStats } from './stats.js'

type CountedHere = Pick<LimiterStats, 'decisions' | 'storeErrors' | 'reconciled' | 'evicted' | 'shed'>

/** Reports what a limiter does: counts it for `stats`, and emits it as an event. */
export class Reporter implements StoreListener {
  readonly #events: Events
  readonly #warning: StoreWarning
  readonly #counts = {
    decisions: {
      store: { allowed: 0, denied: 0 },
      place: { allowed: 0, denied: 0 },
      lease: { allowed: 0, denied: 0 },
      cache: { allowed: 0, denied: 0 },
      unlimited: { allowed: 0, denied: 0 },
      blocked: { allowed: 0, denied: 0 },
      local: { allowed: 0, denied: 0 },
      open: { allowed: 0, denied: 0 },
      closed: { allowed: 0, denied: 0 },
    } satisfies LimiterStats['decisions'],
    storeErrors: 0,
    reconciled: { units: 0, dropped: 0 },
    evicted: 0,
    shed: 0,
  }
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
    this.#count(decision)
    // Most often nobody listens.
    if (this.#events.hearsDecisions) this.#events.emit('decision', ...argsOf(decision, context))
    if (!decision.allowed && this.#events.hearsDenials) {
      this.#events.emit('limited', ...argsOf(decision, context))
    }
  }

  #count({ source, allowed }: Decision): void {
    if (source === 'list' || source === 'shed') return
    this.#counts.decisions[source][allowed ? 'allowed' : 'denied'] += 1
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
    this.#counts.storeErrors += requests
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
    this.#counts.reconciled.units += reconciled.units
    this.#counts.reconciled.dropped += reconciled.dropped
    this.#outages.charge(shard, reconciled)
    this.#events.emit('reconciliation', reconciled)
  }

  onEvicted(subjects: number): void {
    this.#counts.evicted += subjects
    this.#events.emit('evicted', subjects)
  }

  shed(shed: Shed): void {
    this.#counts.shed += 1
    this.#events.emit('shed', shed)
  }

  /** An event of a feature, which counts it itself. */
  emit<Name extends keyof ChangeEvents>(name: Name, change: ChangeEvents[Name]): void {
    this.#events.emit(name, ...([change] as LimiterEvents[Name]))
  }

  stats(): CountedHere {
    const { decisions, reconciled, ...numbers } = this.#counts
    return { decisions: structuredClone(decisions), reconciled: { ...reconciled }, ...numbers }
  }
}

function argsOf(decision: Decision, context: EventContext | undefined): LimiterEvents['decision'] {
  return context ? [decision, context] : [decision]
}
