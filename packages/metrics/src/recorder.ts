import type { Limiter, LimiterEvents, StoreErrorReason } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import type { Collector } from './collector.js'
import { DecisionCounter } from './decision-counter.js'
import { ATTRIBUTES, type Attributes } from './instruments.js'
import { createSum, type Sum } from './ledger.js'
import type { Settings } from './options.js'
import type { Watched } from './watchlist.js'

export type EventName = keyof Handlers

/** What to record for each event. */
type Handlers = {
  // Leases and requests in flight are read from the limiters' stats: no event reports used units, or each request in flight. What is
  // observed is in the decision, and so is the time that a request waited.
  readonly [
    Name in Exclude<
      keyof LimiterEvents,
      'limited' | 'observed' | 'overage' | 'lease' | 'inFlight' | 'waiting'
    >
  ]: (...args: LimiterEvents[Name]) => void
}

/** Turns the events of one limiter into metrics. Holds no reference to the limiter. */
export class Recorder {
  readonly #collector: Collector
  readonly #attributes: Attributes
  readonly #watched: Watched
  readonly #decisions: DecisionCounter
  /** By plan. */
  readonly #shed = new Map<string, Sum>()
  /** Made once, since each call of the store adds a value. */
  readonly #callAttributes = new Map<StoreErrorReason | undefined, Attributes>()

  /** @param settings its attributes are those of the limiter */
  constructor(settings: Settings, collector: Collector, watched: Watched) {
    this.#collector = collector
    this.#attributes = settings.attributes
    this.#watched = watched
    this.#decisions = new DecisionCounter(settings, collector)
  }

  record<Name extends EventName>(name: Name, args: LimiterEvents[Name]): void {
    // It may have been forgotten since it was closed.
    if (!this.#watched.isOn) this.#collector.watchlist.add(this.#watched)
    this.#handlers[name](...args)
  }

  readonly #handlers: Handlers = {
    decision: (decision) => this.#decisions.decision(decision),
    fallback: (decision, error) => this.#decisions.fallback(decision, error),
    storeError: ({ reason }, requests) => {
      const attributes = this.#with({ [ATTRIBUTES.errorType]: reason })
      this.#collector.sink.add('storeErrors', 1, attributes)
      this.#collector.sink.add('failedRequests', requests, attributes)
    },
    storeCall: ({ shard, durationMs, error }) => {
      if (!this.#watched.breakers.has(shard)) this.#beginShard(shard)
      this.#collector.sink.record('storeDuration', durationMs / 1000, this.#attributesOfCall(error?.reason))
    },
    breaker: ({ state, shard }) => {
      this.#watched.breakers.set(shard, state)
      this.#collector.sink.add('breakerChanges', 1, this.#withBreaker(shard, state))
    },
    reconciliation: ({ units, dropped }) => {
      if (units > 0) this.#countReconciled('charged', units)
      if (dropped > 0) this.#countReconciled('dropped', dropped)
    },
    evicted: (subjects) => this.#collector.sink.add('evictions', subjects, this.#attributes),
    // Every process hears of a change, and the one that made it counts it.
    rule: ({ action, rule: { kind }, isOwn }) => {
      if (isOwn) this.#collector.sink.add('ruleChanges', 1, this.#withRule(action, kind))
    },
    shed: ({ plan }) => {
      const sum = this.#shed.get(plan) ?? createSum('shed', this.#withPlan(plan))
      this.#shed.set(plan, sum)
      this.#collector.ledger.add(sum, 1)
    },
    blocked: ({ plan }) => this.#collector.sink.add('blocks', 1, this.#withPlan(plan)),
    nearLimit: ({ plan, limit, share }) =>
      this.#collector.sink.add('warnings', 1, {
        ...this.#withPlan(plan),
        [ATTRIBUTES.limit]: this.#decisions.limitNameFor(limit),
        [ATTRIBUTES.share]: share,
      }),
    booked: ({ kind, plan, limit }) =>
      this.#collector.sink.add('bookings', 1, {
        ...this.#withPlan(plan),
        [ATTRIBUTES.booking]: kind,
        [ATTRIBUTES.limit]: this.#decisions.limitNameFor(limit),
      }),
    planError: () => this.#collector.sink.add('planErrors', 1, this.#attributes),
    // Counts under the plan that was used. The unknown name can be anything, and each name would be its own time series.
    unknownPlan: (_subject, used) => this.#collector.sink.add('unknownPlans', 1, this.#withPlan(used)),
  }

  /**
   * Starts counters at 0: those of rare events, and those that alerts watch. If a series began with 1, an alert on its increase would
   * miss the first event.
   *
   * @param limiter the recorder's
   */
  startAtZero(limiter: Limiter): void {
    const { sink } = this.#collector
    this.#beginShard(0)
    this.#countReconciled('charged', 0)
    this.#countReconciled('dropped', 0)
    for (const reason of REASONS)
      sink.add('failedRequests', 0, this.#with({ [ATTRIBUTES.errorType]: reason }))
    for (const kind of ['block', 'override', 'scale', 'forgetPlan'])
      sink.add('ruleChanges', 0, this.#withRule('set', kind))
    sink.add('leaseUnits', 0, this.#with({ [ATTRIBUTES.lease]: 'lost' }))
    for (const counter of ['evictions', 'leaseRenewals', 'planErrors'] as const)
      sink.add(counter, 0, this.#attributes)
    for (const plan of internalsOf(limiter).planNames()?.slice(0, MOST_PLANS) ?? []) {
      sink.add('unknownPlans', 0, this.#withPlan(plan))
      for (const source of ['store', 'cache']) sink.add('decisions', 0, this.#overQuota(plan, source))
    }
  }

  #beginShard(shard: number): void {
    this.#watched.breakers.set(shard, 'closed')
    this.#collector.sink.add('breakerChanges', 0, this.#withBreaker(shard, 'open'))
  }

  #countReconciled(result: 'charged' | 'dropped', units: number): void {
    this.#collector.sink.add('reconciledUnits', units, this.#with({ [ATTRIBUTES.reconciliation]: result }))
  }

  #attributesOfCall(reason: StoreErrorReason | undefined): Attributes {
    const known = this.#callAttributes.get(reason)
    if (known) return known
    const made = reason === undefined ? this.#attributes : this.#with({ [ATTRIBUTES.errorType]: reason })
    this.#callAttributes.set(reason, made)
    return made
  }

  #withBreaker(shard: number, state: string): Attributes {
    return this.#with({ [ATTRIBUTES.breakerState]: state, [ATTRIBUTES.shard]: shard })
  }

  #withRule(action: string, kind: string): Attributes {
    return this.#with({ [ATTRIBUTES.ruleAction]: action, [ATTRIBUTES.ruleKind]: kind })
  }

  /** The attributes of what a plan denies over its quota. */
  #overQuota(plan: string, source: string): Attributes {
    return {
      ...this.#withPlan(plan),
      [ATTRIBUTES.source]: source,
      [ATTRIBUTES.result]: 'denied',
      [ATTRIBUTES.reason]: 'quota-exceeded',
    }
  }

  #withPlan(plan: string | undefined): Attributes {
    return plan === undefined ? this.#attributes : this.#with({ [ATTRIBUTES.plan]: plan })
  }

  #with(attributes: Attributes): Attributes {
    return { ...this.#attributes, ...attributes }
  }
}

/** Only so many plans have series before they are used. */
const MOST_PLANS = 100

/** The record names each reason, so that none is forgotten. */
const REASONS = Object.keys({
  ...{ timeout: true, unreachable: true, loading: true, busy: true, 'cluster-down': true },
  ...{ 'out-of-memory': true, 'read-only': true, 'not-permitted': true, 'wrong-server': true },
  ...{ 'foreign-value': true, protocol: true, 'script-missing': true, closed: true, unknown: true },
} satisfies Record<StoreErrorReason, true>)
