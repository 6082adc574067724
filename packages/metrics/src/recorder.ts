import type { Attributes, BatchObservableResult } from '@opentelemetry/api'
import type { Limiter, LimiterEvents } from '@tollgate/core'
import { toError, warn } from '@tollgate/core/adapter'
import { DecisionCounter } from './decision-counter.js'
import { ATTRIBUTES, createInstruments, type Instruments } from './instruments.js'
import { Ledger, createSum, type Sum } from './ledger.js'
import type { Settings } from './options.js'
import type { Overview, Watchlist } from './watchlist.js'

export type EventName = keyof Handlers

/** What to record for each event. */
type Handlers = {
  // Leases and requests in flight are read from the limiters' stats: no event reports used units, or each request in flight. What is
  // observed is in the decision.
  readonly [
    Name in Exclude<
      keyof LimiterEvents,
      'limited' | 'observed' | 'overage' | 'lease' | 'inFlight' | 'waiting'
    >
  ]: (limiter: Limiter, ...args: LimiterEvents[Name]) => void
}

/** Turns the events of limiters into metrics. */
export class Recorder {
  readonly #settings: Settings
  readonly #watchlist: Watchlist
  readonly #instruments: Instruments
  readonly #ledger = new Ledger((error) => this.#warn(error))
  readonly #decisions: DecisionCounter
  readonly #countShed: (plan: string) => void
  #hasWarned = false
  #isOver = false

  constructor(settings: Settings, watchlist: Watchlist) {
    this.#settings = settings
    this.#watchlist = watchlist
    this.#instruments = createInstruments(settings.meter)
    const warn = (error: unknown): void => this.#warn(error)
    this.#decisions = new DecisionCounter(settings, this.#instruments, this.#ledger, warn)
    this.#countShed = createShedCounter(settings, this.#instruments, this.#ledger)
    this.#startAtZero()
    settings.meter.addBatchObservableCallback(this.#observe, observedOf(this.#instruments))
  }

  /** Runs work that may fail. Events come in the middle of a request, and an error here must not make the request fail. */
  attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#warn(error)
    }
  }

  record<Name extends EventName>(name: Name, limiter: Limiter, args: LimiterEvents[Name]): void {
    this.#watchlist.add(limiter)
    this.#handlers[name](limiter, ...args)
  }

  /** Records pending sums, and stops observing limiters. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ledger.flush()
    this.attempt(() => this.#addLeases(this.#watchlist.look()))
    this.#settings.meter.removeBatchObservableCallback(this.#observe, observedOf(this.#instruments))
  }

  readonly #handlers: Handlers = {
    decision: (_, decision) => this.#decisions.decision(decision),
    fallback: (_, decision, error) => this.#decisions.fallback(decision, error),
    storeError: (_, { reason }, requests) => {
      const attributes = this.#with({ [ATTRIBUTES.errorType]: reason })
      this.#instruments.storeErrors.add(1, attributes)
      this.#instruments.failedRequests.add(requests, attributes)
    },
    breaker: (limiter, { state, shard }) => {
      this.#watchlist.noteBreaker(limiter, shard, state)
      this.#instruments.breakerChanges.add(1, this.#withBreaker(shard, state))
    },
    reconciliation: (_, { units, dropped }) => {
      const { reconciledUnits } = this.#instruments
      if (units > 0) reconciledUnits.add(units, this.#with({ [ATTRIBUTES.reconciliation]: 'charged' }))
      if (dropped > 0) reconciledUnits.add(dropped, this.#with({ [ATTRIBUTES.reconciliation]: 'dropped' }))
    },
    evicted: (_, subjects) => this.#instruments.evictions.add(subjects, this.#settings.attributes),
    // Every process hears of a change, and the one that made it counts it.
    rule: (_, { action, rule: { kind }, isOwn }) => {
      if (isOwn) this.#instruments.ruleChanges.add(1, this.#withRule(action, kind))
    },
    shed: (_, { plan }) => this.#countShed(plan),
    blocked: (_, { plan }) =>
      this.#instruments.blocks.add(
        1,
        plan === undefined ? this.#settings.attributes : this.#with({ [ATTRIBUTES.plan]: plan }),
      ),
    nearLimit: (_, { plan, limit, share }) =>
      this.#instruments.warnings.add(
        1,
        this.#with({
          ...(plan !== undefined && { [ATTRIBUTES.plan]: plan }),
          [ATTRIBUTES.limit]: this.#decisions.limitNameFor(limit),
          [ATTRIBUTES.share]: share,
        }),
      ),
    booked: (_, { kind, plan, limit }) =>
      this.#instruments.bookings.add(
        1,
        this.#with({
          [ATTRIBUTES.booking]: kind,
          ...(plan !== undefined && { [ATTRIBUTES.plan]: plan }),
          [ATTRIBUTES.limit]: this.#decisions.limitNameFor(limit),
        }),
      ),
    planError: () => this.#instruments.planErrors.add(1, this.#settings.attributes),
    // Counts under the plan that was used. The unknown name can be anything, and each name would be its own time series.
    unknownPlan: (_, _subject, used) =>
      this.#instruments.unknownPlans.add(1, this.#with({ [ATTRIBUTES.plan]: used })),
  }

  /** Starts rare counters at 0. If a series began with 1, an alert on its increase would miss the first event. */
  #startAtZero(): void {
    const { breakerChanges, reconciledUnits, ruleChanges, evictions, leaseUnits, leaseRenewals, planErrors } =
      this.#instruments
    this.attempt(() => {
      breakerChanges.add(0, this.#withBreaker(0, 'open'))
      for (const result of ['charged', 'dropped']) {
        reconciledUnits.add(0, this.#with({ [ATTRIBUTES.reconciliation]: result }))
      }
      for (const kind of ['block', 'override', 'scale', 'forgetPlan'])
        ruleChanges.add(0, this.#withRule('set', kind))
      evictions.add(0, this.#settings.attributes)
      leaseUnits.add(0, this.#with({ [ATTRIBUTES.lease]: 'lost' }))
      leaseRenewals.add(0, this.#settings.attributes)
      planErrors.add(0, this.#settings.attributes)
    })
  }

  readonly #observe = (result: BatchObservableResult): void => {
    // Add the current turn's sums first, so that this collection includes them.
    this.#ledger.flush()
    const { pending, inFlight, waiting, leasesHeld, breakerStatus, limiterStatus } = this.#instruments
    const overview = this.#watchlist.look()
    this.#addLeases(overview)
    result.observe(pending, overview.pending, this.#settings.attributes)
    result.observe(inFlight, overview.inFlight, this.#settings.attributes)
    result.observe(waiting, overview.waiting, this.#settings.attributes)
    result.observe(leasesHeld, overview.leases.held, this.#settings.attributes)
    for (const [status, count] of Object.entries(overview.limiters)) {
      result.observe(limiterStatus, count, this.#with({ [ATTRIBUTES.limiterState]: status }))
    }
    for (const [shard, states] of overview.breakers) {
      for (const [state, count] of Object.entries(states)) {
        result.observe(breakerStatus, count, this.#withBreaker(shard, state))
      }
    }
  }

  /** Adds to counters. An observed sum over limiters would fall when one of them is forgotten. */
  #addLeases({ leases: { units, used, returned, lost, renewals } }: Overview): void {
    const { leaseUnits, leaseRenewals } = this.#instruments
    for (const [change, count] of Object.entries({ granted: units, used, returned, lost })) {
      if (count > 0) leaseUnits.add(count, this.#with({ [ATTRIBUTES.lease]: change }))
    }
    if (renewals > 0) leaseRenewals.add(renewals, this.#settings.attributes)
  }

  #withBreaker(shard: number, state: string): Attributes {
    return this.#with({ [ATTRIBUTES.breakerState]: state, [ATTRIBUTES.shard]: shard })
  }

  #withRule(action: string, kind: string): Attributes {
    return this.#with({ [ATTRIBUTES.ruleAction]: action, [ATTRIBUTES.ruleKind]: kind })
  }

  #with(attributes: Attributes): Attributes {
    return { ...this.#settings.attributes, ...attributes }
  }

  /** Warns only once, since every request may cause the error. */
  #warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    warn('TOLLGATE_METRICS', `Metrics could not be recorded: ${toError(error).message}`)
  }
}

function observedOf(instruments: Instruments): Instruments['pending'][] {
  const { pending, inFlight, waiting, leasesHeld, breakerStatus, limiterStatus } = instruments
  return [pending, inFlight, waiting, leasesHeld, breakerStatus, limiterStatus]
}

/** Makes a function that counts shed requests by plan. */
function createShedCounter(
  settings: Settings,
  instruments: Instruments,
  ledger: Ledger,
): (plan: string) => void {
  const sums = new Map<string, Sum>()
  return (plan) => {
    let sum = sums.get(plan)
    if (!sum) {
      sum = createSum(instruments.shed, { ...settings.attributes, [ATTRIBUTES.plan]: plan })
      sums.set(plan, sum)
    }
    ledger.add(sum, 1)
  }
}
