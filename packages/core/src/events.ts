import { EventEmitter } from 'node:events'
import type { Decision } from './decision.js'
import type { StoreError } from './errors.js'
import type { Subject } from './subject.js'

/** What a limiter tells, by the name of the event. */
export interface LimiterEvents {
  /** A request was denied, by a limit or by the failure policy. */
  limited: [decision: Decision]
  /** The store failed or was late; that many requests were left to the failure policy. Once per batch. */
  storeError: [error: StoreError, requests: number]
  /** A subject named a plan that does not exist, or none where there is no default, and is held to `used`. */
  unknownPlan: [subject: Subject, used: string]
}

/** The events of one limiter. A listener that throws is told as a warning: it must not decide a request. */
export class Events {
  readonly #emitter = new EventEmitter()

  on<Name extends keyof LimiterEvents>(name: Name, listener: (...args: LimiterEvents[Name]) => void): void {
    this.#emitter.on(name, listener as (...args: unknown[]) => void)
  }

  off<Name extends keyof LimiterEvents>(name: Name, listener: (...args: LimiterEvents[Name]) => void): void {
    this.#emitter.off(name, listener as (...args: unknown[]) => void)
  }

  emit<Name extends keyof LimiterEvents>(name: Name, ...args: LimiterEvents[Name]): void {
    try {
      this.#emitter.emit(name, ...args)
    } catch (error) {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
      process.emitWarning(`A listener of the event '${name}' threw: ${reason}`, 'TollgateWarning')
    }
  }
}
