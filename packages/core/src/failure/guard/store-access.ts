import { type StoreError, toStoreError } from '../../base/errors.js'
import { chain, type MaybePromise, quietEach } from '../../base/promises.js'
import { elapsedMs } from '../../base/timers.js'
import { processWide } from '../../base/warnings.js'
import type { SubjectKeys } from '../../requests/request-builder.js'
import type { Request } from '../../requests/request.js'
import { Batcher, type Conclude } from '../../stores/batcher.js'
import type {
  AccountRequest,
  Answer,
  Outcome,
  RefundAnswer,
  RefundRequest,
  Store,
  StoreRequest,
  UnblockRequest,
} from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import {
  type BatchCallOptions,
  type BatchListener,
  Consumption,
  notAList,
  Peek,
  readRefundAnswers,
  RefundFailures,
} from './batch-calls.js'
import { type Deadlines, ReadyQueue } from './deadlines.js'
import { type BreakerState, type GuardedStore, ShardGuard, type ShardGuardOptions } from './shard-guard.js'

/** How many limiters use a store: the last one to close closes it. */
const users = processWide('limiters of a store', () => new WeakMap<Store, number>())

/** When a synchronous store was asked: not needed, and reading the clock would cost time. */
const AT_ONCE = 0

export interface StoreAccessOptions extends ShardGuardOptions, BatchListener {
  /** Says how long a call may take, including the wait for the store to be ready. */
  readonly deadlines: Deadlines
  /**
   * Called with the keys of a message that gives units back or charges them: when it was answered, when its answer is lost,
   * and when the answer came late. What denied the same keys before may then be wrong.
   */
  readonly onChanged: (keys: readonly string[]) => void
}

/**
 * The pipeline's access to a store that may fail. A synchronous store is called directly. Any other is called in batches, each for one
 * shard, and each shard can fail alone: it is not called while its breaker is open.
 *
 * Requests that the store does not decide within the deadline get an error, and the failure policy decides them. A request is sent
 * at most once, since it may have been counted, and never after its deadline. Only refunds and requests with an id may be repeated
 * and sent late. Memory is bounded: while the store hangs or is down, only requests of the last `deadlineMs` are held.
 */
export class StoreAccess {
  readonly answersAtOnce: boolean
  readonly #store: Store
  readonly #options: StoreAccessOptions
  readonly #guarded: GuardedStore
  readonly #callOptions: BatchCallOptions
  readonly #shards = new Map<number, ShardGuard>()
  readonly #refundFailures: RefundFailures
  readonly #batcher: Batcher<Request>
  /** Requests that are waiting for the store; `drain` waits for them. */
  #pending = 0
  #onIdle: (() => void) | undefined

  constructor(store: Store, options: StoreAccessOptions) {
    this.answersAtOnce = store.synchronous ?? false
    this.#store = store
    this.#options = options
    this.#guarded = { store, queue: new ReadyQueue(store), deadlines: options.deadlines }
    this.#callOptions = {
      store,
      listener: {
        onFailure: options.onFailure,
        onLate: (batch, answers) => {
          this.#changed(batch.filter(changesMore))
          options.onLate(batch, answers)
        },
      },
    }
    this.#refundFailures = new RefundFailures(options.onFailure)
    this.#batcher = new Batcher(
      (batch, onAnswers) => this.#guardOf(batch).ask(new Consumption(batch, onAnswers, this.#callOptions)),
      () => this.#answered(),
    )
    users.set(store, (users.get(store) ?? 0) + 1)
  }

  get pending(): number {
    return this.#pending
  }

  /** Why requests are not sent to a shard; undefined when they are. */
  refusal(shard: number): StoreError | undefined {
    return this.answersAtOnce ? undefined : this.#guard(shard).refusal
  }

  /** The breaker of every shard that has been used. */
  states(): (readonly [shard: number, state: BreakerState])[] {
    return [...this.#shards].map(([shard, { breaker }]) => [shard, breaker.state])
  }

  consume<Result>(request: Request, conclude: Conclude<Request, MaybePromise<Result>>): MaybePromise<Result> {
    if (this.answersAtOnce) return conclude(request, this.#askNow('consume', request), AT_ONCE)
    this.#pending += 1
    if (!changesMore(request)) return this.#batcher.ask(request, conclude)
    return this.#batcher.ask(request, (asked, given, sentAtMs) => {
      this.#changed([request])
      return conclude(asked, given, sentAtMs)
    })
  }

  peek<Result>(request: Request, conclude: Conclude<Request, Result>): MaybePromise<Result> {
    if (this.answersAtOnce) return conclude(request, this.#askNow('peek', request), AT_ONCE)
    this.#pending += 1
    const sentAtMs = elapsedMs()
    return new Promise((resolve, reject) => {
      const onAnswers = (given: unknown): void => {
        this.#answered()
        try {
          const answer: unknown = Array.isArray(given) ? given[0] : given
          resolve(conclude(request, answer, sentAtMs))
        } catch (error) {
          reject(error)
        }
      }
      this.#guard(request.shard).ask(new Peek([request], onAnswers, this.#callOptions))
    })
  }

  /** Charges one shard for what was admitted already, also while its breaker is open. Never rejects. */
  async charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    let answers: readonly Answer[] = []
    try {
      const given = this.answersAtOnce
        ? []
        : await this.#guardOf(batch).call((call) => this.#store.consume(batch, call), true)
      quietEach(given)
      answers = Array.isArray(given) ? given : batch.map(() => notAList(given))
    } catch (error) {
      // Not reported to onFailure: no request waits for a charge.
      answers = batch.map(() => error as StoreError)
    }
    this.#changed(batch.filter(changesMore))
    return answers
  }

  /**
   * Gives units of one shard back. Never rejects.
   *
   * @param isForced call the store even while the breaker is open
   */
  async refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]> {
    const guard = this.answersAtOnce ? undefined : this.#guardOf(batch)
    const ask = (): MaybePromise<readonly RefundAnswer[]> => this.#store.refund(batch)
    let answers: readonly RefundAnswer[]
    try {
      answers = readRefundAnswers(batch, await (guard ? guard.call(ask, isForced) : ask()))
      this.#refundFailures.report(batch, answers)
    } catch (error) {
      answers = batch.map(() => toStoreError(error))
      // A refusal by the breaker is not reported: the failures before it were.
      if (!guard || error !== guard.refusal) this.#refundFailures.report(batch, answers)
    }
    this.#changed(batch)
    return answers
  }

  /**
   * Returns whether anything was there. Also false if the store does not say.
   *
   * @param onLate called if the store did it after the deadline
   * @throws {StoreError} when the store failed
   */
  async reset({ keys, shard, sets }: SubjectKeys, onLate: () => void): Promise<boolean> {
    const ask = (): MaybePromise<boolean> => this.#store.reset(keys, shard, sets)
    return (await this.#change(shard, ask, onLate)) === true
  }

  /**
   * Has the store book an entry. Otherwise like `reset`.
   *
   * @throws {StoreError} when the store failed
   */
  book(request: AccountRequest, onLate: () => void): Promise<Outcome> {
    const read = ([answer]: readonly Answer[]): Outcome => {
      if (!isOutcome(answer, request)) throw toStoreError(answer)
      return answer
    }
    return this.#change(request.shard, () => chain(this.#store.consume([request]), read), onLate)
  }

  /**
   * Ends the blocks of some keys. Returns whether there was one. Otherwise like `reset`.
   *
   * @throws {StoreError} when the store failed
   */
  async unblock({ keys, shard, sets }: SubjectKeys, onLate: () => void): Promise<boolean> {
    const set = sets.find(({ blockAfter }) => blockAfter) ?? sets[0]
    if (!set || !this.#store.blocks) return false
    const batch = keys.map((key): UnblockRequest => {
      return { shard, grant: 'unblock', parts: [{ key, set, cost: 1 }] }
    })
    const ask = (): MaybePromise<boolean> =>
      chain(this.#store.consume(batch), (answers) => wereBlocked(batch, answers))
    return this.#change(shard, ask, onLate)
  }

  /** Has the store do what a caller waits for, and which changes nothing if it is repeated. */
  async #change<T>(shard: number, ask: () => MaybePromise<T>, onLate: () => void): Promise<T> {
    if (this.answersAtOnce) return ask()
    const guard = this.#guard(shard)
    try {
      return await new Promise<T>((onValue, onError) => guard.ask({ ask, onValue, onError, onLate }))
    } catch (error) {
      if (error !== guard.refusal) this.#options.onFailure(error as StoreError, 1)
      throw error
    }
  }

  /** Sends waiting requests now, and resolves when all are answered. */
  async drain(): Promise<void> {
    this.#batcher.flush()
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  async close(): Promise<void> {
    for (const { breaker } of this.#shards.values()) breaker.end()
    const others = (users.get(this.#store) ?? 1) - 1
    users.set(this.#store, others)
    if (others === 0) await this.#store.close?.()
  }

  #guardOf(batch: readonly { readonly shard: number }[]): ShardGuard {
    return this.#guard(batch[0]?.shard ?? 0)
  }

  #guard(shard: number): ShardGuard {
    const known = this.#shards.get(shard)
    if (known) return known
    const guard = new ShardGuard(shard, this.#guarded, this.#options)
    this.#shards.set(shard, guard)
    return guard
  }

  /** The answer of a synchronous store, or the error it throws. */
  #askNow(how: 'consume' | 'peek', request: Request): unknown {
    try {
      return onlyAnswer(how === 'peek' ? this.#store.peek([request]) : this.#store.consume([request]))
    } catch (error) {
      return error
    }
  }

  #changed(requests: readonly { readonly parts: readonly { readonly key: string }[] }[]): void {
    if (requests.length > 0)
      this.#options.onChanged(requests.flatMap(({ parts }) => parts.map(({ key }) => key)))
  }

  #answered(): void {
    this.#pending -= 1
    if (this.#pending === 0) this.#onIdle?.()
  }
}

/** Whether a message does more to the counts of a key than take units that fit. */
function changesMore({ grant }: Pick<StoreRequest, 'grant'>): boolean {
  return grant === 'lease' || grant === 'force'
}

/** The only answer in a list. If the list is wrong, promises in it are silenced. */
function onlyAnswer(answers: MaybePromise<readonly Answer[]>): unknown {
  if (Array.isArray(answers) && answers.length === 1) {
    const answer = answers[0] as Partial<Promise<Answer>> | undefined
    if (answer?.then === undefined) return answer
  }
  quietEach(answers)
  return answers instanceof Promise ? answers : (answers as readonly Answer[])[0]
}

/** @throws {StoreError} when one of them has no answer */
function wereBlocked(batch: readonly UnblockRequest[], answers: readonly Answer[]): boolean {
  return batch
    .map((request, i): boolean => {
      const answer = answers[i]
      if (!isOutcome(answer, request)) throw toStoreError(answer)
      return answer.wasBlocked === true
    })
    .includes(true)
}
