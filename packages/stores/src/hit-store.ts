import { AsyncLocalStorage } from 'node:async_hooks'
import { ConfigError, type Decision, type Limiter, type Store } from '@tollgate/core'
import { atCaller, warn } from '@tollgate/core/store'
import { Counter } from './counter.js'
import { hitOf, stateOf, UNREACHABLE, usedOf, type Limited } from './hit.js'
import { needWindow, quotaOf, refuseBucket } from './limited.js'
import { refuseSecondUse } from './second-use.js'
import { backing, type StoreOptions } from './store-options.js'

/** The middleware's options that the store needs. */
export interface HitStoreInit {
  /** The window's length in ms. */
  readonly windowMs: number
  /** The requests in a window: a number, or a function of the request, which the store does not get. */
  readonly limit: unknown
  /** Whether the middleware takes failed requests back. */
  readonly skipFailedRequests?: boolean
  /** Whether the middleware takes successful requests back. */
  readonly skipSuccessfulRequests?: boolean
}

/** How many requests of a client count, and when the next one fits. */
export interface ClientHits {
  /** The requests that count now. One more than the limit means that the request was refused. */
  totalHits: number
  /** When there is room again. */
  resetTime: Date
}

interface Ready {
  readonly limited: Limited
  /** Whether every request counts, even a refused one, since the limit is unknown or 0. */
  readonly countsAll: boolean
  /** The requests that the middleware may take back; undefined if it takes none back. */
  readonly requests: AsyncLocalStorage<Counted> | undefined
}

/** What a request took. */
interface Counted {
  readonly key: string
  decision?: Decision
}

/**
 * What `tollgateStore` returns for express-rate-limit, express-slow-down and hono-rate-limiter. The middleware calls its methods.
 * You may need `limiter`, and `resetKey` to clear a client's count.
 */
export class TollgateStore {
  /** Shows decisions and store errors: `store.limiter.on('storeError', ...)`, `stats()`, `health()`. */
  readonly limiter: Limiter
  /** The option `name` and a colon, or nothing. The middleware compares it to find requests that are counted twice. */
  readonly prefix: string
  /** Whether only this process has the counts: true with the memory store. */
  readonly localKeys: boolean
  readonly #counter: Counter
  readonly #algorithm: StoreOptions['algorithm']
  readonly #warns: boolean
  #uses = 0
  #ready: Ready | undefined
  #trouble = new ConfigError('store', 'no middleware has called its init, which sets the limit')

  /** Called by `tollgateStore`. @throws {ConfigError} when an argument is wrong */
  constructor(store: Store, options: StoreOptions = {}) {
    const backed = atCaller(TollgateStore, () => backing(store, options))
    this.limiter = backed.limiter
    this.prefix = options.name === undefined ? '' : `${options.name}:`
    this.localKeys = store.synchronous
    this.#counter = new Counter({ ...backed, windowName: 'windowMs' })
    this.#algorithm = options.algorithm
    this.#warns = options.warnings ?? true
  }

  /**
   * Reads the middleware's options. The middleware calls this when it is made.
   *
   * @throws {ConfigError} when one of these options cannot work, or another middleware already uses this store.
   *                       express-rate-limit only logs it, so every later call rejects with it as well
   */
  init(options: HitStoreInit): void {
    try {
      this.#ready = atCaller(TollgateStore.prototype.init, () => {
        refuseSecondUse((this.#uses += 1))
        return readyFor(options, this.#algorithm)
      })
    } catch (error) {
      this.#ready = undefined
      this.#trouble = error as ConfigError
      throw error
    }
    if (this.#warns && typeof options.limit === 'function') warn('TOLLGATE_LIMIT_FUNCTION', LIMIT_IS_FUNCTION)
  }

  /**
   * Counts a request, unless it is refused.
   *
   * @returns the key's hits, with this one. One more than the limit: the request is refused, and takes nothing
   * @throws {ConfigError} what `init` threw
   * @throws {StoreUnavailableError} if the store cannot answer and `onStoreFailure` is `closed`
   */
  increment(key: string): Promise<ClientHits> {
    const request: Counted = { key }
    // Not in an async function, so that it lasts for the rest of the middleware, which may call decrement.
    this.#ready?.requests?.enterWith(request)
    return this.#count(request)
  }

  async #count(request: Counted): Promise<ClientHits> {
    const { limited, countsAll, requests } = this.#need()
    request.decision = this.#counter.needAnswer(await this.#counter.take(idOf(request.key), limited))
    const { allowed, used, retryAfterMs, resetMs } = hitOf(request.decision, limited)
    // Middleware takes nothing back after the reset time, so everything must count until then.
    if (allowed && (countsAll || requests)) return hitsOf(used, this.#counter.countsForMs(limited))
    // Clients get it in whole seconds, which must not be 0.
    return hitsOf(used, allowed ? resetMs : Math.max(retryAfterMs, Math.min(limited.windowMs, 1000)))
  }

  /**
   * Gives a request back.
   *
   * - Without `skipFailedRequests` and `skipSuccessfulRequests`: the key's request that has counted longest.
   * - With one of these: the request in which the middleware calls it. A refused request gives nothing back, nor does a call for
   *   another key or outside a request.
   */
  async decrement(key: string): Promise<void> {
    const { limited, requests } = this.#need()
    if (!requests) return this.#counter.giveBack(idOf(key), limited)
    const request = requests.getStore()
    // It is unknown whether another request was refused. Giving that one a unit would let refused clients free others' units.
    if (request?.key === key && request.decision) await this.limiter.refund(request.decision)
  }

  /** Looks up a key's hits without counting one. @returns undefined if there are none */
  async get(key: string): Promise<ClientHits | undefined> {
    const { limited, countsAll } = this.#need()
    const decision = this.#counter.needAnswer(await this.#counter.peek(idOf(key), limited))
    const state = stateOf(decision)
    if (!state || state.used === 0) return undefined
    return hitsOf(
      usedOf(state, limited.quota),
      countsAll ? this.#counter.countsForMs(limited) : state.resetMs,
    )
  }

  /** Forgets a key's hits, so that its client has the whole limit again. */
  async resetKey(key: string): Promise<void> {
    await this.#counter.forget(idOf(key), this.#need().limited)
  }

  /** Closes the limiter. A Redis client stays open. After that, the failure policy decides requests. */
  async shutdown(): Promise<void> {
    await this.limiter.close()
  }

  #need(): Ready {
    if (this.#ready) return this.#ready
    throw this.#trouble
  }
}

const LIMIT_IS_FUNCTION =
  'The store does not know a limit that is a function, so refused requests count, too: a client that keeps asking is never let in. ' +
  'Write a number. For plans, make a middleware for each, with a number, a store and a name of its own, and choose one by request.'

function readyFor(options: HitStoreInit, algorithm: StoreOptions['algorithm']): Ready {
  const { windowMs, limit, skipFailedRequests, skipSuccessfulRequests } = options
  needWindow(windowMs, 'windowMs')
  const quota = typeof limit === 'function' ? 0 : quotaOf(limit, 'limit')
  // express-slow-down also sets 0: it lets all requests pass, and needs to know how many came after its delayAfter.
  const countsAll = quota === 0 || quota === UNREACHABLE
  if (countsAll) refuseBucket(algorithm, 'requests without knowing their limit')
  return {
    limited: { quota: countsAll ? UNREACHABLE : quota, windowMs },
    countsAll,
    requests: skipFailedRequests || skipSuccessfulRequests ? new AsyncLocalStorage() : undefined,
  }
}

function hitsOf(totalHits: number, ms: number): ClientHits {
  return { totalHits, resetTime: new Date(Date.now() + Math.ceil(ms)) }
}

/** The key may be any value, as in other stores. Clients without a key have an empty one. */
function idOf(key: unknown): string {
  return String(key) || '(empty)'
}
