import { toStoreError, type StoreError } from '../base/errors.js'
import { elapsedMs } from '../base/timers.js'
import { processWide } from '../base/process-wide.js'
import type { SubjectKeys } from '../requests/request-builder.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { BreakerState } from '../failure/breaker.js'
import { readRefundAnswers } from '../failure/refund-answers.js'
import { StoreGuard, type StoreGuardOptions } from '../failure/store-guard.js'
import type { Request } from '../requests/request.js'
import { Batcher, type Conclude } from '../stores/batcher.js'
import type { Answer, RefundAnswer, RefundRequest, Store, StoreRequest } from '../stores/contract.js'
import { askNow } from './store-answer.js'

/** How many limiters use a store: the last one to close closes it. */
const users = processWide('limiters of a store', () => new WeakMap<Store, number>())

/** When a synchronous store was asked: nobody needs to know, and reading the clock would cost time. */
const AT_ONCE = 0

/**
 * The pipeline's access to the store. A synchronous store is called directly. Any other is called in batches, with a
 * deadline, and not at all while its breaker is open.
 */
export class StoreAccess {
  readonly #store: Store
  /** Undefined for a synchronous store, which needs neither deadline nor batches. */
  readonly #guard: StoreGuard | undefined
  readonly #batcher: Batcher<Request>
  /** Requests that are waiting for the store; `drain` waits for them. */
  #pending = 0
  #onIdle: (() => void) | undefined

  constructor(store: Store, options: StoreGuardOptions) {
    this.#store = store
    users.set(store, (users.get(store) ?? 0) + 1)
    const guard = store.synchronous ? undefined : new StoreGuard(store, options)
    this.#guard = guard
    this.#batcher = new Batcher(
      (batch, onAnswers) => guard?.consume(batch, onAnswers),
      () => this.#answered(),
    )
  }

  get answersAtOnce(): boolean {
    return this.#guard === undefined
  }

  get pending(): number {
    return this.#pending
  }

  /** Why requests are not sent to a shard; undefined when they are. */
  refusal(shard: number): StoreError | undefined {
    return this.#guard?.refusal(shard)
  }

  /** Whether requests are not sent to a shard. True for a synchronous store: it is never charged for an outage. */
  isOpen(shard: number): boolean {
    return this.#guard?.isOpen(shard) ?? true
  }

  /** The breaker of every shard that has been used. */
  states(): Iterable<readonly [number, BreakerState]> {
    return this.#guard?.states() ?? []
  }

  consume<Result>(request: Request, conclude: Conclude<Request, Result>): MaybePromise<Result> {
    if (!this.#guard) return conclude(request, askNow(this.#store, 'consume', request), AT_ONCE)
    this.#pending += 1
    return this.#batcher.ask(request, conclude)
  }

  peek<Result>(request: Request, conclude: Conclude<Request, Result>): MaybePromise<Result> {
    const guard = this.#guard
    if (!guard) return conclude(request, askNow(this.#store, 'peek', request), AT_ONCE)
    this.#pending += 1
    const sentAtMs = elapsedMs()
    return new Promise((resolve, reject) => {
      guard.peek([request], (given) => {
        this.#answered()
        try {
          resolve(
            conclude(request, Array.isArray(given) ? (given as readonly unknown[])[0] : given, sentAtMs),
          )
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** Charges the store for what has been admitted already. Never rejects. */
  charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#guard?.charge(batch) ?? Promise.resolve([])
  }

  /** Never rejects. */
  async refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]> {
    if (this.#guard) return this.#guard.refund(batch, isForced)
    try {
      return readRefundAnswers(batch, await this.#store.refund(batch))
    } catch (error) {
      return batch.map(() => toStoreError(error))
    }
  }

  /**
   * Returns whether anything was there: false also of a store that does not say.
   *
   * @throws {StoreError} when the store failed
   */
  async reset({ keys, shard, sets }: SubjectKeys): Promise<boolean> {
    return (await (this.#guard ?? this.#store).reset(keys, shard, sets)) === true
  }

  /** Sends waiting requests now, and resolves when all are answered. */
  async drain(): Promise<void> {
    this.#batcher.flush()
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  async close(): Promise<void> {
    this.#guard?.end()
    const others = (users.get(this.#store) ?? 1) - 1
    users.set(this.#store, others)
    if (others === 0) await this.#store.close?.()
  }

  #answered(): void {
    this.#pending -= 1
    if (this.#pending === 0) this.#onIdle?.()
  }
}
