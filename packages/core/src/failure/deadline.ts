import { StoreError, toStoreError } from '../base/errors.js'
import { isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Call } from '../stores/contract.js'
import { clearTimeout, setImmediate, setTimeout } from '../base/timers.js'

/** Receives the result of one call of a store. */
export interface CallListener<T> {
  onValue(value: T): void
  onError(error: StoreError): void
  /** Called for a result after the deadline, when `onError` has told the caller already. */
  onLate(value: T | StoreError): void
}

/**
 * Calls a store and ends within the deadline in any case. The listener gets a value or an error within the deadline,
 * and `onLate` if the store answers after it. Waiting for the store to be ready counts, too; a call whose deadline has
 * passed by then is not sent.
 */
export class DeadlineCall<T> implements Call {
  isOver = false
  readonly #ask: (call: Call) => MaybePromise<T>
  readonly #listener: CallListener<T>
  readonly #timer: NodeJS.Timeout
  #isSent = false
  #isSettled = false

  /** @param isAwaited whether a request waits for the result; if not, the timer does not keep the process alive */
  constructor(
    ask: (call: Call) => MaybePromise<T>,
    listener: CallListener<T>,
    deadlineMs: number,
    isAwaited = true,
  ) {
    this.#ask = ask
    this.#listener = listener
    // When the process was busy, replies that have arrived are read before the immediate runs: they are not late.
    this.#timer = setTimeout(() => setImmediate(() => this.#expire(deadlineMs)), deadlineMs)
    if (!isAwaited) this.#timer.unref()
  }

  get isSent(): boolean {
    return this.#isSent
  }

  send(): void {
    this.#isSent = true
    try {
      const asked = this.#ask(this)
      if (!isPromise(asked)) return this.#succeed(asked)
      // Promise.resolve, since a thenable that is not a real promise may call back more than once.
      Promise.resolve(asked).then(
        (value) => this.#succeed(value),
        (error: unknown) => this.fail(error),
      )
    } catch (error) {
      this.fail(error)
    }
  }

  fail(thrown: unknown): void {
    const error = toStoreError(thrown)
    if (this.#settle()) this.#listener.onLate(error)
    else this.#listener.onError(error)
  }

  #succeed(given: T): void {
    let value: T
    try {
      value = copied(given)
    } catch (error) {
      return this.fail(error)
    }
    if (this.#settle()) this.#listener.onLate(value)
    else this.#listener.onValue(value)
  }

  /** Returns whether the deadline has passed. */
  #settle(): boolean {
    this.#isSettled = true
    clearTimeout(this.#timer)
    return this.isOver
  }

  #expire(deadlineMs: number): void {
    if (this.#isSettled) return
    this.isOver = true
    const message = `the store did not answer within ${deadlineMs} ms`
    this.#listener.onError(new StoreError(message, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }))
  }
}

/** Copies a list, since reading a user's own list can throw. Here that is a fault; later, requests would hang. */
function copied<T>(given: T): T {
  return Array.isArray(given) ? (Array.from(given) as T) : given
}
