import { StoreError, toStoreError } from '../base/errors.js'
import { isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Call } from '../stores/contract.js'
import { clearTimeout, setImmediate, setTimeout } from '../base/timers.js'

/** What becomes of one call of a store. */
export interface CallListener<T> {
  onValue(value: T): void
  onError(error: StoreError): void
  /** In place of those two, when the caller has been answered that it took too long. */
  onLate(value: T | StoreError): void
}

/**
 * Calls a store, and answers within the deadline in any case. The listener is told once within the deadline, and
 * once more when the store answers after it.
 *
 * @param ready waited for before the call; its time counts, and a call whose deadline has passed is not made
 */
export class DeadlineCall<T> implements Call {
  isOver = false
  readonly #ask: (call: Call) => MaybePromise<T>
  readonly #listener: CallListener<T>
  readonly #timer: NodeJS.Timeout
  #isSent = false
  #isSettled = false

  /** @param isAwaited whether a request waits for it; else a process that has nothing else to do may end before */
  constructor(
    ask: (call: Call) => MaybePromise<T>,
    listener: CallListener<T>,
    deadlineMs: number,
    isAwaited = true,
  ) {
    this.#ask = ask
    this.#listener = listener
    // A reply that came while the process was busy is read before the immediate: it is not the store that is late.
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
      // What only looks like a promise may answer twice.
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

  /** Whether it is too late. */
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

/** A list of a store of the user's own can throw when it is read: here that is a fault, later nobody would be answered. */
function copied<T>(given: T): T {
  return Array.isArray(given) ? (Array.from(given) as T) : given
}
