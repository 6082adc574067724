import type { Decision } from './decision.js'
import { ConfigError, reasonOf, type StoreError } from './errors.js'
import type { Subject } from './subject.js'

/** What a limiter tells, by the name of the event. */
export interface LimiterEvents {
  /** A request was denied, by a limit or by the failure policy. */
  limited: [decision: Decision]
  /**
   * The store failed or was late; that many requests were left to the failure policy. Once per batch, but once per
   * request when it gave something that is not an outcome.
   */
  storeError: [error: StoreError, requests: number]
  /** `planOf` threw, was late or gave no name; the subject's previous plan holds, or the default one. */
  planError: [error: Error, subject: Subject]
  /** A subject named a plan that does not exist, or none where there is no default, and is held to `used`. */
  unknownPlan: [subject: Subject, used: string]
}

type EventName = keyof LimiterEvents
type Listener<Name extends EventName> = (...args: LimiterEvents[Name]) => void
type AnyListener = (...args: never[]) => unknown

/**
 * The events of one limiter. A listener that throws or rejects is told as a warning: it must not decide a request,
 * nor keep an event from other listeners. That is why this is no EventEmitter, which stops at the first error.
 */
export class Events {
  // Never changed in place, so that who listens may change while an event is told.
  readonly #listeners: Record<EventName, readonly AnyListener[]> = {
    limited: [],
    storeError: [],
    planError: [],
    unknownPlan: [],
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
        if (returned !== undefined) Promise.resolve(returned).catch((error: unknown) => warn(name, error))
      } catch (error) {
        warn(name, error)
      }
    }
  }

  #check(name: unknown, listener: unknown): void {
    const names = Object.keys(this.#listeners)
    if (!names.includes(name as string)) throw new ConfigError('event', name, `one of ${names.join(', ')}`)
    if (typeof listener !== 'function') throw new ConfigError('listener', listener, 'a function')
  }
}

function warn(name: string, thrown: unknown): void {
  process.emitWarning(`A listener of the event '${name}' threw: ${reasonOf(thrown)}`, 'TollgateWarning')
}
