import type { Decision } from '../decision/decision.js'
import { ConfigError, type StoreError, type TollgateError } from '../../base/errors.js'
import { channel } from '../../base/platform.js'
import { onceAMinute, thrownText, type Warn } from '../../base/warnings.js'
import type { BreakerState } from '../../failure/guard/shard-guard.js'
import type { Outage } from './reporter.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { InFlightChange } from '../../features/in-flight/slot-reports.js'
import type { LeaseChange } from '../../features/leases/lease-reporter.js'
import type { NearLimit } from '../../features/near-limit/near-limit.js'
import type { RuleChanged } from '../../features/rules/rules.js'
import type { BookedChange } from '../booking.js'
import type { Subject } from '../../plans/subject.js'
import type { WaitingChange } from '../waiting/waiting-change.js'

/** A state change of one shard's breaker. A store without shards is shard 0. */
export interface BreakerChange {
  /**
   * `open`: the shard failed several times, and gets no requests until it answers a probe. `half-open`: it answered, and
   * is charged for what was admitted without it. `closed`: it decides.
   */
  readonly state: BreakerState
  /** The number of the shard, from 0. */
  readonly shard: number
  /** The error that opened it. */
  readonly error: StoreError | undefined
  /** Set with `closed`: how long the shard did not decide, in ms, and what it was charged before it decided again. */
  readonly outage?: Outage
}

/** One call of the store that requests waited for, such as a batch of decisions. */
export interface StoreCall {
  /** The number of the shard, from 0. */
  readonly shard: number
  /** How long it took, in ms, with fractions. A call without an answer in time ends at its deadline. */
  readonly durationMs: number
  /** Why it failed; undefined if the store answered. */
  readonly error: StoreError | undefined
}

/** A request that was refused because this process is overloaded. */
export interface Shed {
  /** The subject that pays. */
  readonly subject: Subject
  /** The name of its plan; empty when that is not known. */
  readonly plan: string
  /** Requests in flight in this process. */
  readonly inFlight: number
  /** The most requests that may be in flight. Undefined if there was no such limit: then the event loop was late. */
  readonly limit: number | undefined
  /** How late the event loop was, in ms. */
  readonly delayMs: number
}

/** A subject that is blocked from now on, because it was denied too often: see the plan option `blockAfter`. */
export interface SubjectBlocked {
  readonly subject: Subject
  /** The name of the plan whose limits denied it; undefined for a group's own limits and for stacked limits. */
  readonly plan: string | undefined
  /** The group or stacked limit in which it is blocked; undefined for the common counters. */
  readonly place: string | undefined
  /** When the block ends, in ms since 1970, by the store's clock. */
  readonly until: number
  /** 1 for the first block, 2 for the next, and so on, until the subject was not blocked for as long as the longest `for`. */
  readonly level: number
}

/**
 * What `decision` and `limited` events say about the request: the option `context` of `consume`, or over HTTP what the
 * option `eventContext` gives. With `eventContext: true` it has `method`, `route` and `address`.
 */
export interface EventContext {
  readonly method?: string
  readonly route?: string | undefined
  readonly address?: string | undefined
  readonly [name: string]: unknown
}

/** The events of features, each with one argument. */
export interface ChangeEvents {
  lease: LeaseChange
  inFlight: InFlightChange
  waiting: WaitingChange
  rule: RuleChanged
  blocked: SubjectBlocked
  nearLimit: NearLimit
  booked: BookedChange
}

/** The events of a limiter and the arguments of their listeners. */
export interface LimiterEvents {
  /** A request was decided. Not emitted for requests on the allow or block list, or for those that were shed. */
  decision: [decision: Decision, context?: EventContext]
  /** A request was denied: by a limit, by a `blocked` plan, or by the failure policy. */
  limited: [decision: Decision, context?: EventContext]
  /** A request passed that a limit which only observes would have denied: see `decision.observed`. */
  observed: [decision: Decision, context?: EventContext]
  /** A request passed that exceeded the quota of a limit with `overage`: `decision.limits` says by how much in `over`. */
  overage: [decision: Decision, context?: EventContext]
  /**
   * The store failed, or missed the deadline, for a peek, refund or reset, or for this many requests. The failure policy
   * decided these. Emitted once per batch, or once per request if the answer was not an outcome. With 0 requests: a shard that
   * had failed still fails, now for another reason that you have to fix.
   */
  storeError: [error: StoreError, requests: number]
  /**
   * A call of the store ended: decisions in one batch, a peek, a refund or a reset. Not emitted for probes, for charges after an outage,
   * and for the memory store. Calls are timed only while somebody listens.
   */
  storeCall: [call: StoreCall]
  /** A shard's breaker changed its state: the shard is no longer asked, or it is back. */
  breaker: [change: BreakerChange]
  /** The failure policy decided a request, because the store could not. */
  fallback: [decision: Decision, error: StoreError]
  /** The store was charged for units that were admitted while it could not answer. */
  reconciliation: [reconciled: Reconciled]
  /**
   * The store was full and forgot this many subjects whose units still counted. They start anew. Emitted at most once a
   * second. With a memory store, set a larger `maxSubjects`.
   */
  evicted: [subjects: number]
  /** This process took units of a subject in advance, was refused some, gave some back, or lost some. */
  lease: [change: LeaseChange]
  /** Requests in flight were reported again, because the store lost them or may have: after an outage or a pause. */
  inFlight: [change: InFlightChange]
  /** A request on a plan with `wait` got a place in line, or left the line. */
  waiting: [change: WaitingChange]
  /** A rule was set, replaced or lifted, here or in another process. Rules that end by themselves emit nothing. */
  rule: [change: RuleChanged]
  /**
   * A subject was denied so often that it is blocked: see the plan option `blockAfter`. Emitted once for each block, in the process
   * whose request began it.
   */
  blocked: [blocked: SubjectBlocked]
  /**
   * A subject has used a share of a limit: see the plan option `warnAt`. Emitted once for each share and window, in the process that
   * noticed it first. If a request passes several shares, it is emitted for the highest.
   */
  nearLimit: [near: NearLimit]
  /** This process booked a top-up, a renewal or a penalty. A repeated call emits nothing. */
  booked: [change: BookedChange]
  /** A request was refused because this process is overloaded: see the option `shed`. It took no units. */
  shed: [shed: Shed]
  /**
   * `planOf` failed, took too long, or returned something other than a plan or limits. The subject keeps its previous
   * plan, or gets the default plan.
   */
  planError: [error: TollgateError, subject: Subject]
  /** A subject named a plan that does not exist, or none, although no default plan was chosen. The plan `used` applies. */
  unknownPlan: [subject: Subject, used: string]
}

type EventName = keyof LimiterEvents
type Listener<Name extends EventName> = (...args: LimiterEvents[Name]) => void
type AnyListener = (...args: never[]) => unknown

/** The message of each event on its diagnostics channel. `emit` adds the `limiter`. */
const MESSAGES: { readonly [Name in EventName]: (...args: LimiterEvents[Name]) => object } = {
  decision: (decision, context) => (context ? { decision, context } : { decision }),
  limited: (decision, context) => (context ? { decision, context } : { decision }),
  observed: (decision, context) => (context ? { decision, context } : { decision }),
  overage: (decision, context) => (context ? { decision, context } : { decision }),
  storeError: (error, requests) => ({ error, requests }),
  storeCall: (call) => call,
  breaker: (change) => change,
  fallback: (decision, error) => ({ decision, error }),
  reconciliation: (reconciled) => reconciled,
  evicted: (subjects) => ({ subjects }),
  lease: (change) => change,
  inFlight: (change) => change,
  waiting: (change) => change,
  rule: (change) => change,
  blocked: (blocked) => blocked,
  nearLimit: (near) => near,
  booked: (change) => change,
  shed: (shed) => shed,
  planError: (error, subject) => ({ error, subject }),
  unknownPlan: (subject, used) => ({ subject, used }),
}

/**
 * The name of the channel of `node:diagnostics_channel` that gets this event from all limiters in the process, such as
 * `tollgate:store-error`.
 */
export function channelFor(event: EventName): string {
  return `tollgate:${event.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/**
 * The events of one limiter. An error in a listener becomes a process warning: it must neither affect a request nor
 * keep the event from other listeners. An EventEmitter would stop at the first error.
 */
export class Events {
  // The arrays are replaced, never changed, so that listeners can be added or removed during an event.
  readonly #listeners = forEachEvent((): readonly AnyListener[] => [])
  readonly #limiter: object
  readonly #warn: Warn
  readonly #channels: Readonly<Record<EventName, ReturnType<typeof channel>>>

  /**
   * @param limiter  sent along on the channels, so that subscribers know which limiter emitted an event
   * @param isHidden whether nobody can subscribe to its channels
   */
  constructor(limiter: object, warn: Warn, isHidden = false) {
    this.#channels = forEachEvent((name) => channel(isHidden ? Symbol(name) : channelFor(name)))
    this.#limiter = limiter
    this.#warn = onceAMinute(warn)
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    this.#check(name, listener)
    this.#listeners[name] = [...this.#listeners[name], listener]
  }

  off<Name extends EventName>(name: Name, listener: Listener<Name>): void {
    this.#check(name, listener)
    const last = this.#listeners[name].lastIndexOf(listener)
    if (last >= 0) this.#listeners[name] = this.#listeners[name].toSpliced(last, 1)
  }

  /** Whether `decision` has listeners, here or on its channel. */
  get hearsDecisions(): boolean {
    return this.#listeners.decision.length > 0 || this.#channels.decision.hasSubscribers
  }

  /** Whether `limited` has listeners, here or on its channel. */
  get hearsDenials(): boolean {
    return this.#listeners.limited.length > 0 || this.#channels.limited.hasSubscribers
  }

  /** Whether `storeCall` has listeners, here or on its channel. */
  get hearsCalls(): boolean {
    return this.#listeners.storeCall.length > 0 || this.#channels.storeCall.hasSubscribers
  }

  emit<Name extends EventName>(name: Name, ...args: LimiterEvents[Name]): void {
    for (const listener of this.#listeners[name] as readonly Listener<Name>[]) {
      try {
        const returned: unknown = listener(...args)
        if (returned !== undefined)
          Promise.resolve(returned).catch((error: unknown) => this.#tellThrown(name, error))
      } catch (error) {
        this.#tellThrown(name, error)
      }
    }
    const channel = this.#channels[name]
    // Node reports errors of channel subscribers itself, as uncaught exceptions.
    if (channel.hasSubscribers) channel.publish({ limiter: this.#limiter, ...MESSAGES[name](...args) })
  }

  #tellThrown(name: EventName, thrown: unknown): void {
    this.#warn('TOLLGATE_LISTENER', `A listener of the event '${name}' threw: ${thrownText(thrown)}`)
  }

  #check(name: unknown, listener: unknown): void {
    const names = Object.keys(this.#listeners)
    if (!names.includes(name as string)) throw ConfigError.wrong('event', name, `one of ${names.join(', ')}`)
    if (typeof listener !== 'function')
      throw ConfigError.wrong('listener', listener, `a function: limiter.on('${String(name)}', () => ...)`)
  }
}

function forEachEvent<T>(make: (name: EventName) => T): Record<EventName, T> {
  const names = Object.keys(MESSAGES) as EventName[]
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<EventName, T>
}
