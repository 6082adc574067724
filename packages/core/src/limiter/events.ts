import * as diagnostics from 'node:diagnostics_channel'
import type { Channel } from 'node:diagnostics_channel'
import type { Decision } from './decision.js'
import { ConfigError, reasonOf, type StoreError, type TollgateError } from '../base/errors.js'
import type { Warn } from '../base/warnings.js'
import type { BreakerState } from '../failure/breaker.js'
import type { Reconciled } from '../failure/reconciliation.js'
import type { Subject } from '../plans/subject.js'

/** A change of what is known of a shard of the store; 0 is the whole of a store that has one. */
export interface BreakerChange {
  /**
   * `open`: the store has failed several times, and is not asked until a probe is answered. `half-open`: it answers, and
   * is told what was admitted meanwhile. `closed`: it decides.
   */
  readonly state: BreakerState
  readonly shard: number
  /** What opened it. */
  readonly error: StoreError | undefined
}

/**
 * What was said of a request beside who pays: by `context` of `consume`, or in HTTP by `eventContext`, which with true
 * gives `method`, `route` and `address`.
 */
export interface EventContext {
  readonly method?: string
  readonly route?: string | undefined
  readonly address?: string | undefined
  readonly [name: string]: unknown
}

/** What a limiter tells, by the name of the event. */
export interface LimiterEvents {
  /** A request was decided: by the store, a plan that needs none or the failure policy. Those on a list are not told. */
  decision: [decision: Decision, context?: EventContext]
  /** A request was denied, by a limit or by the failure policy. */
  limited: [decision: Decision, context?: EventContext]
  /**
   * The store failed or was late with that many requests, which were left to the failure policy; or with a peek, a
   * refund or a reset. Once per batch, but once per request when it gave something that is not an outcome.
   */
  storeError: [error: StoreError, requests: number]
  /** The store was given up, or is back. */
  breaker: [change: BreakerChange]
  /** The failure policy decided a request, since the store could not. */
  fallback: [decision: Decision, error: StoreError]
  /** The store was told of units that were admitted while it could not answer. */
  reconciliation: [reconciled: Reconciled]
  /**
   * The store forgot so many subjects whose units still counted, for want of room: they start anew. Once a second at
   * most. Of a memory store: give it a larger `maxSubjects`.
   */
  evicted: [subjects: number]
  /** `planOf` threw, was late or gave no name; the subject's previous plan holds, or the default one. */
  planError: [error: TollgateError, subject: Subject]
  /** A subject named a plan that does not exist, or none where there is no default, and is held to `used`. */
  unknownPlan: [subject: Subject, used: string]
}

type EventName = keyof LimiterEvents
type Listener<Name extends EventName> = (...args: LimiterEvents[Name]) => void
type AnyListener = (...args: never[]) => unknown

/** What the events of all limiters are told as on their channels: these, and the `limiter`. */
const MESSAGES: { readonly [Name in EventName]: (...args: LimiterEvents[Name]) => object } = {
  decision: (decision, context) => (context ? { decision, context } : { decision }),
  limited: (decision, context) => (context ? { decision, context } : { decision }),
  storeError: (error, requests) => ({ error, requests }),
  breaker: (change) => change,
  fallback: (decision, error) => ({ decision, error }),
  reconciliation: (reconciled) => reconciled,
  evicted: (subjects) => ({ subjects }),
  planError: (error, subject) => ({ error, subject }),
  unknownPlan: (subject, used) => ({ subject, used }),
}

/** The channel of `node:diagnostics_channel` that all limiters of the process tell an event on: `tollgate:store-error`. */
export function channelOf(event: EventName): string {
  return `tollgate:${event.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/**
 * The events of one limiter. A listener that throws or rejects is told as a warning: it must not decide a request,
 * nor keep an event from other listeners. That is why this is no EventEmitter, which stops at the first error.
 */
export class Events {
  // Never changed in place, so that who listens may change while an event is told.
  readonly #listeners: Record<EventName, readonly AnyListener[]> = {
    decision: [],
    limited: [],
    storeError: [],
    breaker: [],
    fallback: [],
    reconciliation: [],
    evicted: [],
    planError: [],
    unknownPlan: [],
  }

  readonly #limiter: object
  readonly #warn: Warn
  readonly #channels = mapChannels()

  /** @param limiter what subscribers of the channels are told it is of */
  constructor(limiter: object, warn: Warn) {
    this.#limiter = limiter
    this.#warn = warn
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
    // Subscribers that throw are told by Node, as an uncaught exception.
    if (channel.hasSubscribers) channel.publish({ limiter: this.#limiter, ...MESSAGES[name](...args) })
  }

  #tellThrown(name: EventName, thrown: unknown): void {
    this.#warn('TOLLGATE_LISTENER', `A listener of the event '${name}' threw: ${reasonOf(thrown)}`)
  }

  #check(name: unknown, listener: unknown): void {
    const names = Object.keys(this.#listeners)
    if (!names.includes(name as string)) throw ConfigError.wrong('event', name, `one of ${names.join(', ')}`)
    if (typeof listener !== 'function')
      throw ConfigError.wrong('listener', listener, `a function: limiter.on('${String(name)}', () => ...)`)
  }
}

function mapChannels(): Record<EventName, Channel> {
  const entries = Object.keys(MESSAGES).map((name) => [
    name,
    diagnostics.channel(channelOf(name as EventName)),
  ])
  return Object.fromEntries(entries) as Record<EventName, Channel>
}
