import { StoreError } from '../errors.js'
import type { Answer, MaybePromise, RefundRequest, Store, StoreRequest } from '../stores/store.js'

export interface GuardOptions {
  /** How long a batch may take, in ms, waiting for the store to be ready included. */
  readonly deadlineMs: number
  /** Told of every fault once per batch, with how many requests it left without an outcome. */
  readonly onFailure: (error: StoreError, requests: number) => void
}

/**
 * A store around a store that always answers: what the inner store cannot decide within the deadline is answered
 * with an error, for the failure policy to decide. Nothing is asked twice, since it may have been counted, and
 * nothing is sent after its deadline.
 */
export class Guard implements Store {
  readonly immediate = false
  readonly #store: Store
  readonly #options: GuardOptions

  constructor(store: Store, options: GuardOptions) {
    this.#store = store
    this.#options = options
  }

  consume(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#decide(batch, () => this.#store.consume(batch))
  }

  peek(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#decide(batch, () => this.#store.peek(batch))
  }

  /** False also when the store cannot answer. */
  async refund(request: RefundRequest): Promise<boolean> {
    try {
      return await this.#within(() => this.#store.refund(request))
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
    ask: () => MaybePromise<readonly Answer[]>,
  ): Promise<readonly Answer[]> {
    return this.#within(ask).then(
      (answers) => {
        this.#tellOf(answers)
        return answers
      },
      (error: unknown) => {
        const failure = toStoreError(error)
        this.#options.onFailure(failure, batch.length)
        return batch.map(() => failure)
      },
    )
  }

  #tellOf(answers: readonly Answer[]): void {
    const failed = answers.filter((answer) => answer instanceof StoreError)
    if (failed[0]) this.#options.onFailure(failed[0], failed.length)
  }

  /** What `ask` gives, or a StoreError when that takes longer than the deadline. */
  #within<T>(ask: () => MaybePromise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let isLate = false
      const expire = (): void => {
        isLate = true
        reject(timeout(this.#options.deadlineMs))
      }
      // A reply that came while the process was busy is read before the immediate: it is not the store that is late.
      const timer = setTimeout(() => setImmediate(expire), this.#options.deadlineMs)
      const fail = (error: unknown): void => {
        clearTimeout(timer)
        reject(error)
      }
      const send = (): void => {
        // The caller has its answer by then, so what it asked must not be counted.
        if (isLate) return
        Promise.resolve(ask()).then((value) => {
          clearTimeout(timer)
          resolve(value)
        }, fail)
      }
      const ready = this.#store.ready?.()
      if (ready) ready.then(send).catch(fail)
      else send()
    })
  }
}

function timeout(deadlineMs: number): StoreError {
  return new StoreError(`the store did not answer within ${deadlineMs} ms`, {
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
  })
}

function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new StoreError(`the store failed: ${message}`, { cause: error })
}
