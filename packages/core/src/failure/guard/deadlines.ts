import { StoreError, toStoreError } from '../../base/errors.js'
import { isPromise, type MaybePromise } from '../../base/promises.js'
import { clearTimeout, elapsedMs, setImmediate, setTimeout } from '../../base/timers.js'
import type { Call, Store } from '../../stores/contract.js'

/** Something that must end within the deadline. A linked list holds them all: the oldest is the next to be late. */
export interface Timed {
  /** Whether a request waits for it; if not, it does not keep the process alive. */
  readonly isAwaited: boolean
  /** When it began, in ms since the process started. Set by `add`, as are the two below. */
  sinceMs: number
  older: Timed | undefined
  newer: Timed | undefined
  expire(): void
}

/**
 * Ends all calls at their deadline, with one timer: making and clearing a timer for each costs more than the rest of a
 * call. The timer fires at most once per deadline, and keeps the process alive only while a request waits. A call ends
 * `deadlineMs` after it began, or up to 2 ms later, because timers count in whole ms.
 */
export class Deadlines {
  readonly deadlineMs: number
  #oldest: Timed | undefined
  #newest: Timed | undefined
  /** How many of them a request waits for. */
  #awaited = 0
  #timer: NodeJS.Timeout | undefined
  /** Whether the timer has fired. What is late ends once the event loop has read what has arrived. */
  #isEnding = false

  /** @param deadlineMs in ms */
  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
  }

  /** @param sinceMs when it began, in ms since the process started: now, or before */
  add(one: Timed, sinceMs: number): void {
    let older = this.#newest
    let newer: Timed | undefined
    while (older && older.sinceMs > sinceMs) [older, newer] = [older.older, older]
    one.sinceMs = sinceMs
    one.older = older
    one.newer = newer
    if (older) older.newer = one
    else this.#oldest = one
    if (newer) newer.older = one
    else this.#newest = one
    if (one.isAwaited && (this.#awaited += 1) === 1) this.#timer?.ref()
    const isNext = newer !== undefined && older === undefined
    if (isNext) clearTimeout(this.#timer)
    if ((isNext || !this.#timer) && !this.#isEnding) this.#armFor(one)
  }

  /** Called once for each that was added, when it ends or is late. */
  remove(one: Timed): void {
    const { older, newer } = one
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    one.older = one.newer = undefined
    // The timer stays: the next call will need it.
    if (one.isAwaited && (this.#awaited -= 1) === 0) this.#timer?.unref()
  }

  #armFor({ sinceMs }: Timed): void {
    const ms = Math.max(1, Math.ceil(sinceMs + this.deadlineMs - elapsedMs()))
    this.#timer = setTimeout(this.#fire, ms)
    if (this.#awaited === 0) this.#timer.unref()
  }

  readonly #fire = (): void => {
    this.#timer = undefined
    if (!this.#oldest) return
    this.#isEnding = true
    const lateSinceMs = elapsedMs() - this.deadlineMs
    // When the process was busy, replies that have arrived are read before the immediate runs: they are not late.
    setImmediate(() => this.#end(lateSinceMs))
  }

  #end(lateSinceMs: number): void {
    for (let one = this.#oldest; one && one.sinceMs <= lateSinceMs; one = this.#oldest) {
      this.remove(one)
      one.expire()
    }
    this.#isEnding = false
    if (this.#oldest) this.#armFor(this.#oldest)
  }
}

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
  onValue(value: unknown, call: DeadlineCall<never>): void
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
 * and `onLate` if the store answers after it. Waiting for the store to be ready counts, too. A call whose deadline has
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
    this.#listener.onValue(value, this as never)
    this.#question.onValue(value)
  }
}

/** Copies a list, since reading one from a user's own store can throw. Here that is a failure. Later, requests would hang. */
function copied<T>(given: T): T {
  return Array.isArray(given) ? ([...(given as readonly unknown[])] as T) : given
}

interface QueuedCall {
  send(): void
  fail(error: unknown): void
}

/**
 * Holds calls while a store is not ready. They do not wait on the store's promise itself, because a promise keeps its
 * callbacks. Calls past their deadline would stay in memory while the store is down.
 */
export class ReadyQueue {
  readonly #store: Store
  readonly #waiting = new Set<QueuedCall>()
  #becoming: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Sends the call now, or once the store is ready. */
  enter(call: QueuedCall): void {
    let ready
    try {
      ready = this.#store.ready?.()
    } catch (error) {
      call.fail(error)
      return
    }
    if (!ready) {
      call.send()
      return
    }
    this.#waiting.add(call)
    if (this.#becoming === ready) return
    this.#becoming = ready
    ready.then(
      () => this.#release(ready, (waiting) => waiting.send()),
      (error: unknown) => this.#release(ready, (waiting) => waiting.fail(error)),
    )
  }

  leave(call: QueuedCall): void {
    this.#waiting.delete(call)
  }

  #release(ready: Promise<void>, go: (waiting: QueuedCall) => void): void {
    if (this.#becoming === ready) this.#becoming = undefined
    const released = [...this.#waiting]
    this.#waiting.clear()
    for (const waiting of released) go(waiting)
  }
}
