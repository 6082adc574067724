import type { StoreError } from '../../base/errors.js'
import type { MaybePromise } from '../../base/promises.js'
import type { Fallback } from '../../failure/fallback.js'
import type { FastPaths } from '../../features/fast-path.js'
import type { InFlight } from '../../features/in-flight/in-flight.js'
import type { Request } from '../../requests/request.js'
import { verdictOf, type Verdict } from '../../requests/verdict.js'
import type { Outcome } from '../../stores/contract.js'
import type { Conclude } from '../../stores/batch/batcher.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { closedError } from '../closed-error.js'
import type { StoreAccess } from './store-access.js'
import type { Telling } from '../report/telling.js'

/** What the store's verdicts are made of, and who learns from them. */
export interface StoreVerdictsOptions {
  readonly store: StoreAccess
  readonly fallback: Fallback
  readonly fastPaths: FastPaths
  readonly inFlight: InFlight
  readonly telling: Telling
}

/** Asks the store for verdicts, unless it is not asked now, and has all learn from its outcomes. */
export class StoreVerdicts {
  readonly #options: StoreVerdictsOptions
  #isEnded = false

  constructor(options: StoreVerdictsOptions) {
    this.#options = options
  }

  /** Whether the limiter was closed, so that the store is not asked any more. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  end(): void {
    this.#isEnded = true
  }

  /** Why the store must not be asked; undefined if it can be. */
  refusal({ shard }: Request): StoreError | undefined {
    const { store, telling } = this.#options
    if (!this.#isEnded) return store.refusal(shard)
    const error = closedError()
    telling.storeError(error, 1)
    return error
  }

  learn(step: Request, outcome: Outcome, sentAtMs: number, isPeek = false): void {
    const { store, fallback, inFlight, fastPaths } = this.#options
    if (!store.answersAtOnce) fallback.note(step, outcome, sentAtMs)
    if (step.inFlight) inFlight.learn(step, outcome, sentAtMs)
    fastPaths.learn(step, outcome, sentAtMs, isPeek)
  }

  /** Sends the store a request or a step. Nothing else does: what counts requests in flight must know of each. */
  ask<T>(step: Request, conclude: Conclude<Request, MaybePromise<T>>): MaybePromise<T> {
    const { store, inFlight } = this.#options
    if (step.inFlight) inFlight.ask(step)
    return store.consume(step, conclude)
  }

  /** Has the store decide one step; the error if it cannot. */
  take(step: Request): MaybePromise<Verdict | StoreError> {
    const { store, telling } = this.#options
    const failed = (error: StoreError): StoreError => {
      step.inFlight?.conclude(false)
      return error
    }
    const refused = this.refusal(step)
    if (refused) return failed(refused)
    return this.ask(step, (_, given, sentAtMs) => {
      if (!isOutcome(given, step)) return failed(telling.errorOf(given, store.answersAtOnce))
      this.learn(step, given, sentAtMs)
      return verdictOf('store', step, given)
    })
  }

  /** The verdict that a request would get, by the failure policy if the store cannot say. */
  peek(step: Request): MaybePromise<Verdict> {
    const { store, fallback, telling } = this.#options
    const refused = this.refusal(step)
    if (refused) return fallback.peek(step, refused)
    return store.peek(step, (_, given, sentAtMs) => {
      if (!isOutcome(given, step)) return fallback.peek(step, telling.errorOf(given, store.answersAtOnce))
      this.learn(step, given, sentAtMs, true)
      return verdictOf('store', step, given)
    })
  }
}
