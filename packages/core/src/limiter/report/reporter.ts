import { isA, isPassing, show, StoreError, type StoreErrorReason, toStoreError } from '../../base/errors.js'
import { quiet } from '../../base/promises.js'
import { foreignText } from '../../base/show.js'
import { elapsedMs } from '../../base/timers.js'
import { everyMinute, type Warn } from '../../base/warnings.js'
import type { FailurePolicyOption } from '../../plans/failure-policy.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { Decision } from '../decision/decision.js'
import type { BreakerChange, ChangeEvents, EventContext, Events, LimiterEvents, Shed } from './events.js'
import type { StoreListener } from '../../stores/contract.js'
import type { Traffic } from '../traffic/traffic.js'
import type { LimiterStats } from './stats.js'

type CountedHere = Pick<
  LimiterStats,
  'decisions' | 'observed' | 'storeErrors' | 'reconciled' | 'evicted' | 'shed'
>

/** Reports what a limiter does: counts it for `stats`, and emits it as an event. */
export class Reporter implements StoreListener {
  readonly #events: Events
  readonly #warning: StoreWarning
  readonly #traffic: Traffic | undefined
  readonly #counts = {
    decisions: {
      store: { allowed: 0, denied: 0 },
      place: { allowed: 0, denied: 0 },
      lease: { allowed: 0, denied: 0 },
      cache: { allowed: 0, denied: 0 },
      unlimited: { allowed: 0, denied: 0 },
      blocked: { allowed: 0, denied: 0 },
      rule: { allowed: 0, denied: 0 },
      local: { allowed: 0, denied: 0 },
      open: { allowed: 0, denied: 0 },
      closed: { allowed: 0, denied: 0 },
    } satisfies LimiterStats['decisions'],
    observed: 0,
    storeErrors: 0,
    reconciled: { units: 0, dropped: 0 },
    evicted: 0,
    shed: 0,
  }
  readonly #outages = new Outages()

  /** @param traffic counts decisions by subject */
  constructor(events: Events, warning: StoreWarning, traffic?: Traffic) {
    this.#events = events
    this.#warning = warning
    this.#traffic = traffic
  }

  /**
   * Counts and emits a decision.
   *
   * @param failed  the error that kept the store from deciding the request, or a part of it
   * @param context what the caller said about the request
   */
  decision(decision: Decision, failed: StoreError | undefined, context: EventContext | undefined): void {
    if (failed) this.#events.emit('fallback', decision, failed)
    else if (this.#outages.isOut && decision.source === 'store') this.#mayBeOver()
    this.#count(decision)
    this.#traffic?.note(decision, context)
    // Most often there are no listeners.
    if (this.#events.hearsDecisions) this.#events.emit('decision', ...toEventArgs(decision, context))
    if (!decision.allowed && this.#events.hearsDenials) {
      this.#events.emit('limited', ...toEventArgs(decision, context))
    }
  }

  /** Emits what limits that deny nothing say of a decision. */
  lenient(decision: Decision, context: EventContext | undefined): void {
    const { allowed, limits, observed = [] } = decision
    if (observed.some(({ wouldDeny }) => wouldDeny)) {
      this.#counts.observed += 1
      this.#events.emit('observed', ...toEventArgs(decision, context))
    }
    if (allowed && limits.some(({ over = 0 }) => over > 0))
      this.#events.emit('overage', ...toEventArgs(decision, context))
  }

  #count({ source, allowed }: Decision): void {
    if (source === 'list' || source === 'shed') return
    this.#counts.decisions[source][allowed ? 'allowed' : 'denied'] += 1
  }

  /**
   * Turns an invalid answer into an error. Reports the error, unless the guard has done so.
   *
   * @param isNew whether nothing can have reported it yet. Errors from the guard were reported, once for a batch
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

  /** @param sinceMs when the call began, in ms since the process started */
  storeCall(shard: number, sinceMs: number, error: StoreError | undefined): void {
    if (this.#events.hearsCalls)
      this.#events.emit('storeCall', { shard, durationMs: elapsedMs() - sinceMs, error })
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

  /** A shard that was given up still fails. This was a probe, not a request. */
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

  /** Emits an event of a feature. The feature counts it. */
  emit<Name extends keyof ChangeEvents>(name: Name, change: ChangeEvents[Name]): void {
    this.#events.emit(name, ...([change] as LimiterEvents[Name]))
  }

  stats(): CountedHere {
    const { decisions, reconciled, ...numbers } = this.#counts
    return { decisions: structuredClone(decisions), reconciled: { ...reconciled }, ...numbers }
  }
}

function toEventArgs(decision: Decision, context: EventContext | undefined): LimiterEvents['decision'] {
  return context ? [decision, context] : [decision]
}

/** The error for a store's answer that is not an outcome. */
function toAnswerError(given: unknown): StoreError {
  if (isA(given, StoreError)) return given
  // It may be a promise, from a store that claims to be synchronous.
  quiet(given)
  if (isA(given, Error)) return toStoreError(given)
  const expected = '{ at, limits } with { wait, remaining, reset } for each limit of the plan'
  return new StoreError(`the store answered a request with ${show(given)}, expected ${expected}`)
}

/**
 * Warns that the store cannot be asked, why, and what to do. At most once a minute for each reason, so that a store that
 * often fails does not fill the log. Without listeners, nothing else would report it.
 */
export class StoreWarning {
  readonly #warn: Warn
  readonly #isDue: (reason: StoreErrorReason) => boolean
  readonly #until: string
  /** The reasons that warnings gave during this outage. */
  readonly #warned = new Set<StoreErrorReason>()
  #isFirst = true

  /** @param clock returns a time in ms; only tests pass one */
  constructor(warn: Warn, policy: FailurePolicyOption, clock?: () => number) {
    this.#warn = warn
    this.#isDue = everyMinute(clock)
    const by = typeof policy === 'function' ? 'a function' : `'${policy}'`
    this.#until = `Until it answers again, onStoreFailure: ${by} decides requests.`
  }

  /** The first connection failed. Warns only once, since clients keep retrying. Returns whether this was the first time. */
  atStart(error: StoreError): boolean {
    const isFirst = this.#isFirst
    if (isFirst) this.failed(error)
    return isFirst
  }

  /** A shard was given up, or still fails. In an outage, only a new reason that needs a fix causes a second warning. */
  failed(error: StoreError): void {
    this.#isFirst = false
    const { message, reason } = error
    if (this.#warned.has(reason) || (this.#warned.size > 0 && isPassing(error))) return
    if (!this.#isDue(reason)) return
    this.#warned.add(reason)
    const advice = ADVICE[reason] ?? ''
    this.#warn(
      'TOLLGATE_STORE',
      `The store ${WHAT[reason] ?? 'cannot be used'}: ${foreignText(message)}${advice}. ${this.#until}`,
    )
  }

  /** The store decides again. Says so only if there was a warning about the outage. */
  over({ ms, units, dropped }: Outage): void {
    if (this.#warned.size === 0) return
    this.#warned.clear()
    const charged = units > 0 ? `; ${units} units that were admitted meanwhile were charged` : ''
    const lost = dropped > 0 ? `; ${dropped} were dropped` : ''
    this.#warn('TOLLGATE_STORE_BACK', `The store decides again after ${seconds(ms)} s${charged}${lost}.`)
  }
}

function seconds(ms: number): string {
  return ms < 100_000 ? (ms / 1000).toFixed(1) : String(Math.round(ms / 1000))
}

/** How the store fails. The cause follows it in the message. */
const WHAT: { readonly [Reason in StoreErrorReason]?: string } = {
  unreachable: 'cannot be reached',
  timeout: 'does not answer',
  loading: 'does not answer',
  busy: 'does not answer',
}

/** More on errors whose message does not say what to do. */
const ADVICE: { readonly [Reason in StoreErrorReason]?: string } = {
  timeout: "; it hangs, is held up, or is too far away for the limiter's deadlineMs",
}

/** How long a shard, or the whole store, did not decide, and what it was charged before it decided again. */
export interface Outage extends Reconciled {
  /** How long it lasted, in ms. */
  readonly ms: number
}

interface Open {
  readonly sinceMs: number
  units: number
  dropped: number
}

/** Measures outages: how long each shard does not decide, and how long at least one of them does not. */
export class Outages {
  readonly #shards = new Map<number, Open>()
  #all: Open | undefined

  /** Whether there is an outage: a shard does not decide, or the store was never reached. */
  get isOut(): boolean {
    return this.#all !== undefined
  }

  /** The store could not be reached at its start. */
  begin(): void {
    this.#all ??= opened()
  }

  open(shard: number): void {
    this.begin()
    if (!this.#shards.has(shard)) this.#shards.set(shard, opened())
  }

  /** @param shard undefined if it is not known */
  charge(shard: number | undefined, { units, dropped }: Reconciled): void {
    for (const one of [this.#all, shard === undefined ? undefined : this.#shards.get(shard)]) {
      if (!one) continue
      one.units += units
      one.dropped += dropped
    }
  }

  /** The shard decides again. */
  close(shard: number): Outage | undefined {
    const one = this.#shards.get(shard)
    this.#shards.delete(shard)
    return one && measured(one)
  }

  /** Returns the store's outage if it is over, because all its shards decide again. */
  end(): Outage | undefined {
    if (!this.#all || this.#shards.size > 0) return undefined
    const outage = measured(this.#all)
    this.#all = undefined
    return outage
  }
}

function opened(): Open {
  return { sinceMs: elapsedMs(), units: 0, dropped: 0 }
}

function measured({ sinceMs, units, dropped }: Open): Outage {
  return { ms: Math.round(elapsedMs() - sinceMs), units, dropped }
}
