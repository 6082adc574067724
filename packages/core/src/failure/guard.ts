import { show, StoreError, toStoreError } from '../errors.js'
import { isPromise, type MaybePromise } from '../maybe-promise.js'
import type { Answer, Call, RefundRequest, Store, StoreRequest } from '../stores/store.js'

export interface GuardOptions {
  /** How long a batch may take, in ms, waiting for the store to be ready included. */
  readonly deadlineMs: number
  /** Told of every fault once per batch, with how many requests it left without an outcome. */
  readonly onFailure: (error: StoreError, requests: number) => void
}

/** With so many calls past their deadline and without a reply, nothing is added to them. */
const MOST_OVERDUE = 32
/** But for one call so often, in case their replies never come. */
const PROBE_EVERY_MS = 1000

/** A call that waits for the store to be ready. */
interface Pending {
  send(): void
  fail(error: unknown): void
}

/**
 * A store around a store that always answers: what the inner store cannot decide within the deadline is answered
 * with an error, for the failure policy to decide. Nothing is asked twice, since it may have been counted, and
 * nothing is sent after its deadline. What is held for a store that hangs or is down is bounded: it is what came
 * within one deadline.
 */
export class Guard implements Store {
  readonly immediate = false
  readonly #store: Store
  readonly #options: GuardOptions
  readonly #pending = new Set<Pending>()
  #becoming: Promise<void> | undefined
  #overdue = 0
  #probedAt = 0

  constructor(store: Store, options: GuardOptions) {
    this.#store = store
    this.#options = options
  }

  consume(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#decide(batch, (call) => this.#store.consume(batch, call))
  }

  peek(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#decide(batch, (call) => this.#store.peek(batch, call))
  }

  /** False also when the store cannot answer. */
  async refund(request: RefundRequest): Promise<boolean> {
    try {
      return await this.#within((call) => this.#store.refund(request, call))
    } catch (error) {
      this.#options.onFailure(toStoreError(error), 1)
      return false
    }
  }

  /** @throws {StoreError} when the store cannot answer */
  async reset(key: string): Promise<void> {
    try {
      await this.#within(() => this.#store.reset(key))
    } catch (error) {
      this.#options.onFailure(toStoreError(error), 1)
      throw toStoreError(error)
    }
  }

  close(): MaybePromise<void> {
    return this.#store.close?.()
  }

  #decide(
    batch: readonly StoreRequest[],
    ask: (call: Call) => MaybePromise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    return this.#within(ask).then(
      (answers) => (Array.isArray(answers) ? this.#tellOf(answers) : this.#fail(batch, notAList(answers))),
      (error: unknown) => this.#fail(batch, toStoreError(error)),
    )
  }

  #fail(batch: readonly StoreRequest[], error: StoreError): readonly Answer[] {
    this.#options.onFailure(error, batch.length)
    return batch.map(() => error)
  }

  #tellOf(answers: readonly Answer[]): readonly Answer[] {
    let failed = 0
    let first: StoreError | undefined
    for (const answer of answers) {
      if (!(answer instanceof StoreError)) continue
      failed += 1
      first ??= answer
    }
    if (first) this.#options.onFailure(first, failed)
    return answers
  }

  /** What `ask` gives, or a StoreError when that takes longer than the deadline. */
  #within<T>(ask: (call: Call) => MaybePromise<T>): Promise<T> {
    if (this.#isStuck()) return Promise.reject(stuck())
    return new Promise<T>((resolve, reject) => {
      const call = { isOver: false }
      let isSent = false
      let isSettled = false
      const expire = (): void => {
        if (isSettled) return
        call.isOver = true
        if (isSent) this.#overdue += 1
        else this.#pending.delete(pending)
        reject(timeout(this.#options.deadlineMs))
      }
      // A reply that came while the process was busy is read before the immediate: it is not the store that is late.
      const timer = setTimeout(() => setImmediate(expire), this.#options.deadlineMs)
      const settle = (): void => {
        isSettled = true
        clearTimeout(timer)
        if (call.isOver) this.#overdue -= 1
      }
      const pending: Pending = {
        send: () => {
          isSent = true
          const succeed = (value: T): void => {
            settle()
            resolve(value)
          }
          try {
            const asked = ask(call)
            if (isPromise(asked)) asked.then(succeed, pending.fail)
            else succeed(asked)
          } catch (error) {
            pending.fail(error)
          }
        },
        fail: (error) => {
          settle()
          reject(error)
        },
      }
      const ready = this.#store.ready?.()
      if (ready) this.#whenReady(ready, pending)
      else pending.send()
    })
  }

  #isStuck(): boolean {
    if (this.#overdue < MOST_OVERDUE) return false
    const now = performance.now()
    if (now - this.#probedAt < PROBE_EVERY_MS) return true
    this.#probedAt = now
    return false
  }

  /** Calls do not wait on the promise itself: what waits there cannot leave at its deadline. */
  #whenReady(ready: Promise<void>, pending: Pending): void {
    this.#pending.add(pending)
    if (this.#becoming === ready) return
    this.#becoming = ready
    const release = (go: (pending: Pending) => void): void => {
      if (this.#becoming === ready) this.#becoming = undefined
      const released = [...this.#pending]
      this.#pending.clear()
      for (const waiting of released) go(waiting)
    }
    ready.then(
      () => release((waiting) => waiting.send()),
      (error: unknown) => release((waiting) => waiting.fail(error)),
    )
  }
}

function notAList(given: unknown): StoreError {
  return new StoreError(`the store answered a batch with ${show(given)}`)
}

function stuck(): StoreError {
  return new StoreError('the store does not answer', { code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
}

function timeout(deadlineMs: number): StoreError {
  return new StoreError(`the store did not answer within ${deadlineMs} ms`, {
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
  })
}
