import type { MaybePromise } from '../../base/promises.js'
import { type Sized, Lane, type Conclude, type Send, type Waiting } from './lane.js'

export type { Conclude }

/**
 * Gathers requests into one call per shard. Requests of one call are sent together and fail together. There is no timer: a
 * request that finds no call of its shard on the way leaves within the same tick of the event loop, with all others of
 * that moment; any other leaves at the end of the tick.
 */
export class Batcher<Request extends Sized & { readonly shard: number }> {
  readonly #send: Send<Request>
  readonly #onConcluded: () => void
  readonly #lanes = new Map<number, Lane<Request>>()

  /** @param onConcluded called when a request has its answer, before its caller gets it */
  constructor(send: Send<Request>, onConcluded: () => void = () => {}) {
    this.#send = send
    this.#onConcluded = onConcluded
  }

  ask<Result>(request: Request, conclude: Conclude<Request, MaybePromise<Result>>): Promise<Result> {
    const lane = this.#laneOf(request.shard)
    return new Promise<Result>((resolve, reject) => {
      lane.add({ request, conclude, resolve, reject } as Waiting<Request, unknown>)
    })
  }

  /** Sends all waiting requests now. */
  flush(): void {
    for (const lane of this.#lanes.values()) lane.flush()
  }

  #laneOf(shard: number): Lane<Request> {
    const known = this.#lanes.get(shard)
    if (known) return known
    const lane = new Lane(this.#send, this.#onConcluded)
    this.#lanes.set(shard, lane)
    return lane
  }
}
