import type { Answer, Store, StoreRequest } from './store.js'

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
  readonly #conclude: (request: Request, answer: Answer) => Result
  #waiting: Waiting<Request, Result>[] = []

  /** @param conclude what the caller gets for an answer of the store */
  constructor(store: Store, conclude: (request: Request, answer: Answer) => Result) {
    this.#store = store
    this.#conclude = conclude
  }

  consume(request: Request): Result | Promise<Result> {
    if (this.#store.immediate) {
      const [answer] = this.#store.consume([request]) as readonly [Answer]
      return this.#conclude(request, answer)
    }
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ request, resolve, reject }) === 1) setImmediate(this.#flush)
      else if (this.#waiting.length === LARGEST_BATCH) this.#flush()
    })
  }

  /** Sends what is waiting now. */
  readonly #flush = (): void => {
    const batch = this.#waiting
    if (batch.length === 0) return
    this.#waiting = []
    this.#send(batch)
  }

  #send(batch: readonly Waiting<Request, Result>[]): void {
    const requests = batch.map(({ request }) => request)
    Promise.resolve(this.#store.consume(requests)).then(
      (answers) => {
        batch.forEach(({ request, resolve, reject }, i) => {
          // What goes wrong with one must not leave the others without an answer.
          try {
            resolve(this.#conclude(request, answers[i] as Answer))
          } catch (error) {
            reject(error)
          }
        })
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error)
      },
    )
  }
}
