import { StoreError, toStoreError } from '../../base/errors.js'
import { isPromise, type MaybePromise } from '../../base/promises.js'
import { elapsedMs } from '../../base/timers.js'
import type { Call } from '../../stores/contract.js'
import type { Deadlines, Timed } from './deadlines.js'

/** What a call asks of a store, and what is done with the answer: `onValue` or `onError` is called once. */
export interface Question<T> {
  ask(call: Call): MaybePromise<T>
  onValue(value: T): void
  onError(error: StoreError): void
  /** Called with a value that came after the deadline, when `onError` was called already. */
  onLate?(value: T): void
}

/** Learns how the calls of a shard end. Each of its functions is called before the question's own. */
export interface CallListener {
  onValue(value: unknown): void
  onError(error: StoreError, call: DeadlineCall<never>): void
  /** Called for a result after the deadline, when `onError` has been called already. */
  onLate(call: DeadlineCall<never>): void
}

/** Options of one call. */
export interface CallOptions {
  readonly listener: CallListener
  readonly deadlines: Deadlines
  /** Why the store does not answer, if that is known. */
  readonly whySilent: () => StoreError | undefined
  /** Whether it is sent even while the breaker is open. No request waits for such a call. */
  readonly isForced: boolean
}

/**
 * Calls a store and ends within the deadline in any case. The question gets a value or an error within the deadline,
 * and `onLate` if the store answers after it. Waiting for the store to be ready counts, too; a call whose deadline has
 * passed by then is not sent.
 */
export class DeadlineCall<T> implements Call, Timed {
  isOver = false
  isSent = false
  readonly isForced: boolean
  readonly isAwaited: boolean
  sinceMs = 0
  older: Timed | undefined = undefined
  newer: Timed | undefined = undefined
  readonly #question: Question<T>
  readonly #listener: CallListener
  readonly #deadlines: Deadlines
  readonly #whySilent: CallOptions['whySilent']

  /** The deadline begins now. */
  constructor(question: Question<T>, { listener, deadlines, whySilent, isForced }: CallOptions) {
    this.#question = question
    this.#listener = listener
    this.#deadlines = deadlines
    this.#whySilent = whySilent
    this.isForced = isForced
    this.isAwaited = !isForced
    deadlines.add(this, elapsedMs())
  }

  send(): void {
    this.isSent = true
    let asked: MaybePromise<T>
    let isLater: boolean
    try {
      asked = this.#question.ask(this)
      isLater = isPromise(asked)
    } catch (error) {
      return this.fail(error)
    }
    if (!isLater) return this.#succeed(asked as T)
    // Promise.resolve, since a thenable that is not a real promise may call back more than once.
    Promise.resolve(asked).then(
      (value) => this.#succeed(value),
      (error: unknown) => this.fail(error),
    )
  }

  fail(thrown: unknown): void {
    const error = toStoreError(thrown)
    if (this.isOver) return this.#listener.onLate(this as never)
    this.#deadlines.remove(this)
    this.#end(error)
  }

  /** Called by the deadlines, which have removed it. */
  expire(): void {
    this.isOver = true
    const message = `the store did not answer within ${this.#deadlines.deadlineMs} ms`
    this.#end(this.#whySilent() ?? new StoreError(message, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }))
  }

  #end(error: StoreError): void {
    this.#listener.onError(error, this as never)
    this.#question.onError(error)
  }

  #succeed(given: T): void {
    let value: T
    try {
      value = copied(given)
    } catch (error) {
      return this.fail(error)
    }
    if (this.isOver) {
      this.#listener.onLate(this as never)
      this.#question.onLate?.(value)
      return
    }
    this.#deadlines.remove(this)
    this.#listener.onValue(value)
    this.#question.onValue(value)
  }
}

/** Copies a list, since reading a user's own list can throw. Here that is a fault; later, requests would hang. */
function copied<T>(given: T): T {
  return Array.isArray(given) ? ([...(given as readonly unknown[])] as T) : given
}
