import { elapsedMs, setImmediate } from '../base/timers.js'

/** The most requests in one call. A larger batch would block the server for other clients for too long. */
const LARGEST_BATCH = 128

/**
 * Makes a caller's result from the store's answer, which can be anything, or from its error.
 *
 * @param sentAtMs when the call was sent, in ms since the process started
 */
export type Conclude<Request, Result> = (request: Request, given: unknown, sentAtMs: number) => Result

interface Waiting<Request, Result> {
  readonly request: Request
  readonly conclude: Conclude<Request, Result>
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers the requests of one tick of the event loop into one call per shard. Requests of one call are sent together
 * and fail together. There is no timer: a lone request is a batch of one and leaves in the same tick.
 */
export class Batcher<Request extends { readonly shard: number }> {
  readonly #send: (batch: readonly Request[]) => Promise<readonly unknown[]>
  #waiting = new Map<number, Waiting<Request, unknown>[]>()

  /** @param send returns the answers in the order of the batch */
  constructor(send: (batch: readonly Request[]) => Promise<readonly unknown[]>) {
    this.#send = send
  }

  ask<Result>(request: Request, conclude: Conclude<Request, Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const one = { request, conclude, resolve, reject } as Waiting<Request, unknown>
      const waiting = this.#waiting.get(request.shard)
      if (waiting?.push(one) === LARGEST_BATCH) {
        this.#waiting.delete(request.shard)
        this.#sendNow(waiting)
      } else if (!waiting) {
        if (this.#waiting.size === 0) setImmediate(this.flush)
        this.#waiting.set(request.shard, [one])
      }
    })
  }

  /** Sends all waiting requests now. */
  readonly flush = (): void => {
    const waiting = this.#waiting
    // A new map, not clear(): V8 links a cleared map's old table to its new one, which keeps the old entries alive.
    this.#waiting = new Map()
    for (const batch of waiting.values()) this.#sendNow(batch)
  }

  #sendNow(batch: readonly Waiting<Request, unknown>[]): void {
    const sentAtMs = elapsedMs()
    this.#send(batch.map(({ request }) => request)).then(
      (answers) => batch.forEach((waiting, i) => settle(waiting, answers[i], sentAtMs)),
      (error: unknown) => batch.forEach((waiting) => settle(waiting, error, sentAtMs)),
    )
  }
}

function settle<Request>(
  { request, conclude, resolve, reject }: Waiting<Request, unknown>,
  given: unknown,
  sentAtMs: number,
): void {
  // An error in one request must not leave the others without an answer.
  try {
    resolve(conclude(request, given, sentAtMs))
  } catch (error) {
    reject(error)
  }
}
