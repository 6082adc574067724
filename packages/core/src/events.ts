import { EventEmitter } from 'node:events'
import type { Decision } from './decision.js'
import { show, type StoreError } from './errors.js'
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
  readonly #emitter = new EventEmitter({ captureRejections: true })

  constructor() {
    this.#emitter.on('error', (error: unknown) => warn('limiter', error))
  }

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
      warn(name, error)
    }
  }
}

function warn(name: string, thrown: unknown): void {
  process.emitWarning(`A listener of the event '${name}' threw: ${reasonOf(thrown)}`, 'TollgateWarning')
}

function reasonOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : show(thrown)
  } catch {
    return 'something that cannot be shown'
  }
}
