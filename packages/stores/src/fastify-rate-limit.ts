import type { Limiter, Store } from '@tollgate/core'
import { atCaller } from '@tollgate/core/store'
import { FastifyCounts } from './fastify-counts.js'
import { namespaceOf, needParams, type FastifyHits, type FastifyParams } from './fastify-params.js'
import { refuseSecondUse } from './second-use.js'
import { backing, type Backed, type StoreOptions } from './store-options.js'

export type { FastifyHits } from './fastify-params.js'
export type { StoreOptions } from './store-options.js'
export { StoreUnavailableError } from './unavailable.js'

/** Gets the answer to a `FastifyCall`, or the error. */
export type FastifyHitsCallback = (error: Error | null, result?: FastifyHits) => void

/** The arguments with which the plugin calls its store. */
export type FastifyCall = [
  key: string,
  callback: FastifyHitsCallback,
  /** The window's length in ms. */
  timeWindow: number,
  max: number,
]

/** The store of the plugin, or of one of its routes. The plugin calls its methods. */
export interface FastifyStore {
  /** Counts a request, unless it is refused. A refused request takes nothing, and its `current` is more than `max`. */
  incr(...call: FastifyCall): void
  /** Like `incr`, but counts nothing: for `{ increment: false }`. */
  read(...call: FastifyCall): void
  /**
   * Makes the store of a route with its own options.
   *
   * @throws {ConfigError} when one of these options cannot work
   */
  child(routeOptions: object): FastifyStore
}

/** The class that `tollgateStore` returns. The plugin makes its store with it. */
export interface FastifyStoreConstructor {
  /** @throws {ConfigError} when the plugin is registered with it twice, or one of the plugin's options cannot work */
  new (pluginOptions: object): FastifyStore
  /** Shows decisions and store errors: `limiter.on('storeError', ...)`, `stats()`, `health()`. */
  readonly limiter: Limiter
  /** Closes the limiter. A Redis client stays open. After that, the failure policy decides requests. */
  close(): Promise<void>
}

/**
 * Makes the option `store` for @fastify/rate-limit 10 or 11. It counts in any Tollgate store, in exact sliding windows by default.
 * Make one for each time that you register the plugin.
 *
 * @param store such as `redisStore(client)`
 * @throws {ConfigError} when an argument is wrong
 * @example
 * await app.register(rateLimit, { timeWindow: '1 minute', max: 100, store: tollgateStore(redisStore(client)) })
 */
export function tollgateStore(store: Store, options: StoreOptions = {}): FastifyStoreConstructor {
  const backed = atCaller(tollgateStore, () => backing(store, options))
  const { limiter } = backed
  let uses = 0

  return class TollgateStore extends Place {
    static readonly limiter = limiter

    static async close(): Promise<void> {
      await limiter.close()
    }

    constructor(pluginOptions: object) {
      atCaller(TollgateStore, () => refuseSecondUse((uses += 1)))
      super({ backed, handlers: 0 }, pluginOptions, 'all')
    }
  }
}

/** What all stores of one plugin share. */
interface Shared {
  readonly backed: Backed
  /** How many of its handlers belong to no route. */
  handlers: number
}

class Place implements FastifyStore {
  readonly #shared: Shared
  readonly #counts: FastifyCounts

  constructor(shared: Shared, params: FastifyParams, namespace: string) {
    this.#shared = shared
    const penalties = atCaller(new.target, () => needParams(params))
    this.#counts = new FastifyCounts(shared.backed, penalties, namespace)
  }

  incr(...[key, callback, timeWindow, max]: FastifyCall): void {
    answer(this.#counts.take({ key, timeWindow, max }), callback)
  }

  read(...[key, callback, timeWindow, max]: FastifyCall): void {
    answer(this.#counts.peek({ key, timeWindow, max }), callback)
  }

  child(routeOptions: object): FastifyStore {
    return atCaller(Place.prototype.child, () => {
      const namespace = namespaceOf(routeOptions, () => (this.#shared.handlers += 1))
      return new Place(this.#shared, routeOptions, namespace)
    })
  }
}

function answer(hits: Promise<FastifyHits>, callback: FastifyHitsCallback): void {
  hits.then(
    (result) => callback(null, result),
    (error: Error) => callback(error),
  )
}
