import { toStoreError, StoreError, isA, show } from '../../base/errors.js'
import { type MaybePromise, quiet, quietEach } from '../../base/promises.js'
import { elapsedMs } from '../../base/timers.js'
import { processWide } from '../../base/warnings.js'
import type { BreakerState } from '../../failure/guard/breaker.js'
import { StoreGuard, type StoreGuardOptions } from '../../failure/guard/store-guard.js'
import { readRefundAnswers, RefundFailures } from '../../failure/outbox/refund-answers.js'
import type { SubjectKeys } from '../../requests/request-builder.js'
import type { Request } from '../../requests/request.js'
import { Batcher, type Conclude } from '../../stores/batcher.js'
import type { Answer, RefundAnswer, RefundRequest, Store, StoreRequest } from '../../stores/contract.js'

/** How many limiters use a store: the last one to close closes it. */
const users = processWide('limiters of a store', () => new WeakMap<Store, number>())

/** When a synchronous store was asked: nobody needs to know, and reading the clock would cost time. */
const AT_ONCE = 0

export interface StoreAccessOptions extends StoreGuardOptions {
  /**
   * Called with the keys of a message that gives units back or charges them: when it was answered, when its answer is lost,
   * and when it came late. What denied the same keys before may be wrong then.
   */
  readonly onChanged: (keys: readonly string[]) => void
}

/**
 * The pipeline's access to the store. A synchronous store is called directly. Any other is called in batches, with a
 * deadline, and not at all while its breaker is open.
 */
export class StoreAccess {
  readonly #store: Store
  readonly #onChanged: StoreAccessOptions['onChanged']
  /** Undefined for a synchronous store, which needs neither deadline nor batches. */
  readonly #guard: StoreGuard | undefined
  readonly #refundFailures: RefundFailures
  readonly #batcher: Batcher<Request>
  /** Requests that are waiting for the store; `drain` waits for them. */
  #pending = 0
  #onIdle: (() => void) | undefined

  constructor(store: Store, options: StoreAccessOptions) {
    this.#store = store
    this.#onChanged = options.onChanged
    users.set(store, (users.get(store) ?? 0) + 1)
    const onLate: StoreGuardOptions['onLate'] = (batch, answers) => {
      this.#changed(batch.filter(changesMore))
      options.onLate(batch, answers)
    }
    const guard = store.synchronous ? undefined : new StoreGuard(store, { ...options, onLate })
    this.#guard = guard
    this.#refundFailures = new RefundFailures(options.onFailure)
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

  /** The breaker of every shard that has been used. */
  states(): Iterable<readonly [number, BreakerState]> {
    return this.#guard?.states() ?? []
  }

  consume<Result>(request: Request, conclude: Conclude<Request, MaybePromise<Result>>): MaybePromise<Result> {
    if (!this.#guard) return conclude(request, askNow(this.#store, 'consume', request), AT_ONCE)
    this.#pending += 1
    if (!changesMore(request)) return this.#batcher.ask(request, conclude)
    return this.#batcher.ask(request, (asked, given, sentAtMs) => {
      this.#changed([request])
      return conclude(asked, given, sentAtMs)
    })
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
  async charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    const answers = (await this.#guard?.charge(batch)) ?? []
    this.#changed(batch.filter(changesMore))
    return answers
  }

  /** Never rejects. */
  async refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]> {
    const answers = await (this.#guard?.refund(batch, isForced) ?? this.#refundNow(batch))
    this.#changed(batch)
    return answers
  }

  async #refundNow(batch: readonly RefundRequest[]): Promise<readonly RefundAnswer[]> {
    let answers: readonly RefundAnswer[]
    try {
      answers = readRefundAnswers(batch, await this.#store.refund(batch))
    } catch (error) {
      answers = batch.map(() => toStoreError(error))
    }
    this.#refundFailures.report(batch, answers)
    return answers
  }

  /**
   * Returns whether anything was there: false also of a store that does not say.
   *
   * @param onLate called if the store has done it after the deadline
   * @throws {StoreError} when the store failed
   */
  async reset(subject: SubjectKeys, onLate: () => void): Promise<boolean> {
    if (this.#guard) return (await this.#guard.reset(subject, onLate)) === true
    const { keys, shard, sets } = subject
    return (await this.#store.reset(keys, shard, sets)) === true
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

  #changed(requests: readonly { readonly parts: readonly { readonly key: string }[] }[]): void {
    if (requests.length > 0) this.#onChanged(requests.flatMap(({ parts }) => parts.map(({ key }) => key)))
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

/** The answer of a synchronous store, or the error it throws. */
function askNow(store: Store, how: 'consume' | 'peek', request: Request): unknown {
  try {
    return onlyOf(how === 'peek' ? store.peek([request]) : store.consume([request]))
  } catch (error) {
    return error
  }
}

/** The only answer of a list. Promises in a list that is wrong are silenced. */
function onlyOf(answers: MaybePromise<readonly Answer[]>): unknown {
  if (Array.isArray(answers) && answers.length === 1) {
    const answer = answers[0] as Partial<Promise<Answer>> | undefined
    if (answer?.then === undefined) return answer
  }
  quietEach(answers)
  return answers instanceof Promise ? answers : (answers as readonly Answer[])[0]
}

/** The error for a store's answer that is not an outcome. */
export function toAnswerError(given: unknown): StoreError {
  if (isA(given, StoreError)) return given
  // Such as of a store that claims to be synchronous.
  quiet(given)
  if (isA(given, Error)) return toStoreError(given)
  const expected = '{ at, limits } with { wait, remaining, reset } for each limit of the plan'
  return new StoreError(`the store answered a request with ${show(given)}, expected ${expected}`)
}
