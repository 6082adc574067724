import { setImmediate } from '../base/timers.js'

/** More than this in one script would hold up others on the server. */
const LARGEST_BATCH = 128

interface Waiting<Request, Result> {
  readonly request: Request
  readonly conclude: (request: Request, given: unknown) => Result
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers the requests of one tick of the event loop into one call for each shard: those of one are sent together, and
 * fail together. Nothing waits for a timer: a lone request is a batch of one and leaves in the same tick.
 */
export class Batcher<Request extends { readonly shard: number }> {
  readonly #send: (batch: readonly Request[]) => Promise<readonly unknown[]>
  #waiting = new Map<number, Waiting<Request, unknown>[]>()

  /** @param send gives the answers of a batch in its order */
  constructor(send: (batch: readonly Request[]) => Promise<readonly unknown[]>) {
    this.#send = send
  }

  /** @param conclude what the caller gets for what the store gave, whatever that is, or threw */
  ask<Result>(request: Request, conclude: (request: Request, given: unknown) => Result): Promise<Result> {
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

  /** Sends what is waiting now. */
  readonly flush = (): void => {
    const waiting = this.#waiting
    // Not cleared: V8 links what a map held before to what it holds next, so that all of it is kept for long.
    this.#waiting = new Map()
    for (const batch of waiting.values()) this.#sendNow(batch)
  }

  #sendNow(batch: readonly Waiting<Request, unknown>[]): void {
    this.#send(batch.map(({ request }) => request)).then(
      (answers) => batch.forEach((waiting, i) => settle(waiting, answers[i])),
      (error: unknown) => batch.forEach((waiting) => settle(waiting, error)),
    )
  }
}

function settle<Request>(
  { request, conclude, resolve, reject }: Waiting<Request, unknown>,
  given: unknown,
): void {
  // What goes wrong with one must not leave the others without an answer.
  try {
    resolve(conclude(request, given))
  } catch (error) {
    reject(error)
  }
}
