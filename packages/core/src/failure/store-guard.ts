import { isA, show, StoreError } from '../base/errors.js'
import { pageOf } from '../base/pages.js'
import { quiet, quietEach } from '../base/quiet.js'
import { chain, type MaybePromise } from '../base/maybe-promise.js'
import type { Answer, Call, RefundAnswer, RefundRequest, Store, StoreRequest } from '../stores/contract.js'
import type { BreakerState } from './breaker.js'
import { readRefundAnswers } from './refund-answers.js'
import { ReadyQueue } from './ready-queue.js'
import { ShardGuard, type ShardGuardOptions } from './shard-guard.js'

/** A request to the store. While it waits to be sent, the failure policy may answer it: then its `turn` is over. */
export type Asked = StoreRequest & { readonly turn?: { readonly isOver: boolean } | undefined }

export interface StoreGuardOptions extends ShardGuardOptions {
  /** Called once per failed batch, with the number of requests that got no outcome. */
  readonly onFailure: (error: StoreError, requests: number) => void
  /** Called when the store decided requests that the failure policy had answered already. */
  readonly onLate: (batch: readonly Asked[], answers: readonly Answer[]) => void
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
  readonly #queue: ReadyQueue
  readonly #shards = new Map<number, ShardGuard>()

  constructor(store: Store, options: StoreGuardOptions) {
    this.#store = store
    this.#options = options
    this.#queue = new ReadyQueue(store)
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

  /** Never rejects. */
  consume(batch: readonly Asked[]): Promise<readonly Answer[]> {
    const asked = this.#of(batch[0]?.shard ?? 0).call((call) => this.#send(batch, call), {
      onLate: (answers) => {
        quietEach(answers)
        this.#options.onLate(batch, answers)
      },
    })
    return this.#check(batch, asked)
  }

  /** Never rejects. */
  peek(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    const guard = this.#of(batch[0]?.shard ?? 0)
    return this.#check(
      batch,
      guard.call((call) => this.#store.peek(batch, call)),
    )
  }

  /** Counts what has been admitted already; works while the breaker is open, too. Never rejects. */
  async charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    const guard = this.#of(batch[0]?.shard ?? 0)
    try {
      const answers = await guard.call((call) => this.#store.consume(batch, call), { isForced: true })
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
    try {
      return readRefundAnswers(batch, await guard.call(() => this.#store.refund(batch), { isForced }))
    } catch (error) {
      // A refusal by the breaker is not reported: the failures before it were.
      if (error !== guard.refusal) this.#options.onFailure(error as StoreError, batch.length)
      return batch.map(() => error as StoreError)
    }
  }

  /** @throws {StoreError} when the store cannot answer */
  async reset(keys: readonly string[], shard: number): Promise<void> {
    const guard = this.#of(shard)
    try {
      await guard.call(() => this.#store.reset(keys, shard))
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
    const guard = new ShardGuard(shard, this.#store, this.#queue, this.#options)
    this.#shards.set(shard, guard)
    return guard
  }

  /** Sends a batch without the requests that the failure policy answered while they waited. */
  #send(batch: readonly Asked[], call: Call): MaybePromise<readonly Answer[]> {
    if (!batch.some(({ turn }) => turn)) return this.#store.consume(batch, call)
    const sent = batch.filter(({ turn }) => !turn?.isOver)
    const ofAll = {
      get isOver(): boolean {
        return call.isOver || sent.some(({ turn }) => turn?.isOver)
      },
    }
    const answers = sent.length > 0 ? this.#store.consume(sent, ofAll) : []
    if (sent.length === batch.length) return answers
    const late = new StoreError('too late to ask the store: raise deadlineMs if this comes often', {
      code: 'ERR_TOLLGATE_STORE_TIMEOUT',
      isOfRequest: true,
    })
    return chain(answers, (given) => batch.map((request) => given[sent.indexOf(request)] ?? late))
  }

  #check(batch: readonly StoreRequest[], asked: Promise<readonly Answer[]>): Promise<readonly Answer[]> {
    return asked.then(
      (answers) => (Array.isArray(answers) ? this.#tellOf(answers) : this.#fail(batch, notAList(answers))),
      (error: StoreError) => this.#fail(batch, error),
    )
  }

  #fail(batch: readonly StoreRequest[], error: StoreError): readonly Answer[] {
    this.#options.onFailure(error, batch.length)
    return batch.map(() => error)
  }

  #tellOf(answers: readonly Answer[]): readonly Answer[] {
    quietEach(answers)
    const failed = answers.filter((answer) => isA(answer, StoreError))
    if (failed[0]) this.#options.onFailure(failed[0], failed.length)
    return answers
  }
}

function notAList(given: unknown): StoreError {
  quiet(given)
  return new StoreError(
    `the store answered a batch with ${show(given)}, expected an array (${pageOf('writing-a-store.md')})`,
  )
}
