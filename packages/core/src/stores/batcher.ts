import { setImmediate } from '../timers.js'
import type { Store, StoreRequest } from './store.js'

/** More than this in one script would hold up others on the server. */
const LARGEST_BATCH = 128

interface Waiting<Request, Result> {
  readonly request: Request
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers the requests of one tick of the event loop into one call of the store. Nothing waits for a timer: a
 * lone request is a batch of one and leaves in the same tick. A store that answers at once is asked at once.
 */
export class Batcher<Request extends StoreRequest, Result> {
  readonly #store: Store
  readonly #conclude: (request: Request, given: unknown) => Result
  /** By partition of the store: those of one are sent together, and fail together. */
  #waiting = new Map<number, Waiting<Request, Result>[]>()

  /** @param conclude what the caller gets for what the store gave, whatever that is, or threw */
  constructor(store: Store, conclude: (request: Request, given: unknown) => Result) {
    this.#store = store
    this.#conclude = conclude
  }

  consume(request: Request): Result | Promise<Result> {
    if (this.#store.immediate) return this.#conclude(request, askNow(this.#store, 'consume', request))
    return new Promise((resolve, reject) => {
      const partition = this.#store.partitionOf?.(request.key) ?? 0
      const waiting = this.#waiting.get(partition)
      if (waiting?.push({ request, resolve, reject }) === LARGEST_BATCH) {
        this.#waiting.delete(partition)
        this.#send(waiting)
      } else if (!waiting) {
        if (this.#waiting.size === 0) setImmediate(this.flush)
        this.#waiting.set(partition, [{ request, resolve, reject }])
      }
    })
  }

  /** Sends what is waiting now. */
  readonly flush = (): void => {
    const waiting = this.#waiting
    // Not cleared: V8 links what a map held before to what it holds next, so that all of it is kept for long.
    this.#waiting = new Map()
    for (const batch of waiting.values()) this.#send(batch)
  }

  #send(batch: readonly Waiting<Request, Result>[]): void {
    const requests = batch.map(({ request }) => request)
    Promise.resolve(this.#store.consume(requests)).then(
      (answers) => batch.forEach((waiting, i) => this.#settle(waiting, answers[i])),
      (error: unknown) => batch.forEach((waiting) => this.#settle(waiting, error)),
    )
  }

  #settle({ request, resolve, reject }: Waiting<Request, Result>, given: unknown): void {
    // What goes wrong with one must not leave the others without an answer.
    try {
      resolve(this.#conclude(request, given))
    } catch (error) {
      reject(error)
    }
  }
}

/** What a store that answers at once gives for a request, or throws. */
export function askNow(store: Store, how: 'consume' | 'peek', request: StoreRequest): unknown {
  try {
    const answers = store[how]([request])
    if (!(answers instanceof Promise)) return answers[0]
    // It has broken its word; that it rejects, too, must not end the process.
    answers.catch(() => {})
    return answers
  } catch (error) {
    return error
  }
}
