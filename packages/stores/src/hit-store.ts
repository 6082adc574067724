import { AsyncLocalStorage } from 'node:async_hooks'
import { ConfigError, type Decision, type Limiter, type Store } from '@tollgate/core'
import { atCaller } from '@tollgate/core/store'
import { Counter } from './counter.js'
import { hitOf, stateOf, UNREACHABLE, usedOf, type Limited } from './hit.js'
import { needWindow, quotaOf, refuseBucket } from './limited.js'
import { refuseSecondUse } from './second-use.js'
import { backing, type StoreOptions } from './store-options.js'

/** The options of the middleware that the store needs. */
export interface HitStoreInit {
  readonly windowMs: number
  /** A number, or a function of the request, which the store is not given. */
  readonly limit: unknown
  readonly skipFailedRequests?: boolean
  readonly skipSuccessfulRequests?: boolean
}

/** How often a client was counted, and when it can come again. */
export interface ClientHits {
  totalHits: number
  resetTime: Date
}

interface Ready {
  readonly limited: Limited
  /** Whether every request counts, refused ones, too, since the limit is not known or none. */
  readonly countsAll: boolean
  /** The requests that the middleware may want back; undefined if it wants none. */
  readonly requests: AsyncLocalStorage<Counted> | undefined
}

/** What a request took. */
interface Counted {
  readonly key: string
  decision?: Decision
}

/** The store of middlewares that ask "how many hits has this key now?", as express-rate-limit and hono-rate-limiter do. */
export class TollgateStore {
  /** Tells of decisions and of the store's faults: `store.limiter.on('storeError', ...)`, `stats()`, `health()`. */
  readonly limiter: Limiter
  /** Keeps counts of stores apart, for the middleware's check that nobody is counted twice. */
  readonly prefix: string
  readonly localKeys: boolean
  readonly #counter: Counter
  readonly #algorithm: StoreOptions['algorithm']
  #uses = 0
  #ready: Ready | undefined
  #trouble = new ConfigError('store', 'no middleware has called its init, which says what the limit is')

  constructor(store: Store, options: StoreOptions = {}) {
    const backed = atCaller(TollgateStore, () => backing(store, options))
    this.limiter = backed.limiter
    this.prefix = options.name === undefined ? '' : `${options.name}:`
    this.localKeys = store.synchronous
    this.#counter = new Counter({ ...backed, windowName: 'windowMs' })
    this.#algorithm = options.algorithm
  }

  /**
   * Called by the middleware when it is made.
   *
   * @throws {ConfigError} when an option of the middleware cannot work, or another middleware has this store already.
   *                       express-rate-limit only logs it, so every later call rejects with it, too
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
  }

  /**
   * Counts a request.
   *
   * @returns the hits of this key with this one; one more than the limit if it is refused, which takes nothing
   */
  increment(key: string): Promise<ClientHits> {
    const request: Counted = { key }
    // Not in an async function, so that it holds for the rest of the middleware, where it calls decrement.
    this.#ready?.requests?.enterWith(request)
    return this.#count(request)
  }

  async #count(request: Counted): Promise<ClientHits> {
    const { limited, countsAll, requests } = this.#need()
    request.decision = this.#counter.needAnswer(await this.#counter.take(idOf(request.key), limited))
    const { allowed, used, retryAfterMs, resetMs } = hitOf(request.decision, limited)
    // Middlewares take nothing back after the reset time: until then all of it must count.
    if (allowed && (countsAll || requests)) return hitsOf(used, this.#counter.countsForMs(limited))
    // In whole seconds, which clients are told, it must not be 0.
    return hitsOf(used, allowed ? resetMs : Math.max(retryAfterMs, Math.min(limited.windowMs, 1000)))
  }

  /**
   * Without `skipFailedRequests` and `skipSuccessfulRequests`: gives back the request of this key that has counted longest.
   * With one of them it is the middleware's: the request in which it is called counts no more. A refused one has taken
   * nothing, so nothing is given back for it, nor where it is called for another key, or outside of a request.
   */
  async decrement(key: string): Promise<void> {
    const { limited, requests } = this.#need()
    if (!requests) return this.#counter.giveBack(idOf(key), limited)
    const request = requests.getStore()
    // Whether another one was refused is not known. Were it given a unit, refused clients could free what others took.
    if (request?.key === key && request.decision) await this.limiter.refund(request.decision)
  }

  /** @returns the hits of a key, without counting one; undefined if there are none */
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

  /** Forgets the hits of a key. */
  async resetKey(key: string): Promise<void> {
    await this.#counter.forget(idOf(key), this.#need().limited)
  }

  /** Lets go of the Tollgate store; a Redis client stays open. The failure policy decides later requests. */
  async shutdown(): Promise<void> {
    await this.limiter.close()
  }

  #need(): Ready {
    if (this.#ready) return this.#ready
    throw this.#trouble
  }
}

function readyFor(options: HitStoreInit, algorithm: StoreOptions['algorithm']): Ready {
  const { windowMs, limit, skipFailedRequests, skipSuccessfulRequests } = options
  needWindow(windowMs, 'windowMs')
  const quota = typeof limit === 'function' ? 0 : quotaOf(limit, 'limit')
  // express-slow-down says 0, too: it lets all pass, and wants to know by how many its delayAfter is passed.
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

/** As other stores do, the key may be any value; that of clients without one is empty. */
function idOf(key: unknown): string {
  return String(key) || '(empty)'
}
