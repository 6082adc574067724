import type { StoreError } from '../../base/errors.js'
import { type MaybePromise, quietEach } from '../../base/promises.js'
import type { SubjectKeys } from '../../requests/request-builder.js'
import type { Answer, RefundAnswer, RefundRequest, Store, StoreRequest } from '../../stores/contract.js'
import type { BreakerState } from './breaker.js'
import {
  Consumption,
  notAList,
  Peek,
  type Asked,
  type Asking,
  type BatchListener,
  type OnAnswers,
} from '../local/consumption.js'
import type { Deadlines } from './deadlines.js'
import { readRefundAnswers, RefundFailures } from '../outbox/refund-answers.js'
import { ReadyQueue } from './ready-queue.js'
import { ShardGuard, type GuardedStore, type ShardGuardOptions } from './shard-guard.js'

export interface StoreGuardOptions extends ShardGuardOptions, BatchListener {
  /** Says how long a call may take, including the wait for the store to be ready. */
  readonly deadlines: Deadlines
}

/**
 * Between the pipeline and a store that may fail. Requests that the store does not decide within the deadline get an
 * error, and the failure policy decides them. A request is sent at most once, since it may have been counted, and never
 * after its deadline. Only refunds and requests with an id may be repeated and sent late. Memory is bounded: while the
 * store hangs or is down, only requests of the last `deadlineMs` are held. Every batch is for one shard, and each shard can
 * fail alone.
 */
export class StoreGuard {
  readonly #store: Store
  readonly #options: StoreGuardOptions
  readonly #guarded: GuardedStore
  readonly #asking: Asking
  readonly #refundFailures: RefundFailures
  readonly #shards = new Map<number, ShardGuard>()

  constructor(store: Store, options: StoreGuardOptions) {
    this.#store = store
    this.#options = options
    this.#asking = { store, listener: options }
    this.#refundFailures = new RefundFailures(options.onFailure)
    this.#guarded = { store, queue: new ReadyQueue(store), deadlines: options.deadlines }
  }

  /** Whether the shard's breaker is not closed, so that requests are not sent to it. */
  isOpen(shard: number): boolean {
    return this.#of(shard).breaker.state !== 'closed'
  }

  /** Why requests are not sent to the shard; undefined when they are. */
  refusal(shard: number): StoreError | undefined {
    return this.#of(shard).refusal
  }

  /** The breaker of every shard that has been used. */
  states(): ReadonlyMap<number, BreakerState> {
    return new Map([...this.#shards].map(([shard, { breaker }]) => [shard, breaker.state]))
  }

  /**
   * Never throws.
   *
   * @param onAnswers called once, with the answers in the order of the batch, or with the error of all
   */
  consume(batch: readonly Asked[], onAnswers: OnAnswers): void {
    this.#of(batch[0]?.shard ?? 0).ask(new Consumption(batch, onAnswers, this.#asking))
  }

  /** As `consume`. */
  peek(batch: readonly StoreRequest[], onAnswers: OnAnswers): void {
    this.#of(batch[0]?.shard ?? 0).ask(new Peek(batch, onAnswers, this.#asking))
  }

  /** Counts what has been admitted already; works while the breaker is open, too. Never rejects. */
  async charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    const guard = this.#of(batch[0]?.shard ?? 0)
    try {
      const answers = await guard.call((call) => this.#store.consume(batch, call), true)
      quietEach(answers)
      return Array.isArray(answers) ? answers : batch.map(() => notAList(answers))
    } catch (error) {
      // Not reported to onFailure: no request waits for a charge.
      return batch.map(() => error as StoreError)
    }
  }

  /**
   * Gives units back. Never rejects.
   *
   * @param isForced call the store even while the breaker is open
   */
  async refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]> {
    const guard = this.#of(batch[0]?.shard ?? 0)
    let answers: readonly RefundAnswer[]
    try {
      answers = readRefundAnswers(batch, await guard.call(() => this.#store.refund(batch), isForced))
    } catch (error) {
      answers = batch.map(() => error as StoreError)
      // A refusal by the breaker is not reported: the failures before it were.
      if (error === guard.refusal) return answers
    }
    this.#refundFailures.report(batch, answers)
    return answers
  }

  /**
   * Returns what the store answered.
   *
   * @param onLate called if the store answers after the deadline
   * @throws {StoreError} when the store cannot answer
   */
  async reset({ keys, shard, sets }: SubjectKeys, onLate: () => void): Promise<unknown> {
    const guard = this.#of(shard)
    const ask = (): MaybePromise<boolean> => this.#store.reset(keys, shard, sets)
    try {
      return await new Promise<unknown>((onValue, onError) => guard.ask({ ask, onValue, onError, onLate }))
    } catch (error) {
      if (error !== guard.refusal) this.#options.onFailure(error as StoreError, 1)
      throw error
    }
  }

  /** Stops probing for good. */
  end(): void {
    for (const { breaker } of this.#shards.values()) breaker.end()
  }

  #of(shard: number): ShardGuard {
    const known = this.#shards.get(shard)
    if (known) return known
    const guard = new ShardGuard(shard, this.#guarded, this.#options)
    this.#shards.set(shard, guard)
    return guard
  }
}
