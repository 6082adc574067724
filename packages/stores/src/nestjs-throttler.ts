import type { Decision, Limiter, Store } from '@tollgate/core'
import { atCaller } from '@tollgate/core/store'
import { Blocks } from './blocks.js'
import { Counter } from './counter.js'
import { hitOf, stateOf, type Hit } from './hit.js'
import { encodeName, quotaOf } from './limited.js'
import { backing, type StoreOptions } from './store-options.js'

export type { StoreOptions } from './store-options.js'
export { StoreUnavailableError } from './unavailable.js'

/** The arguments with which the guard calls its storage. */
export type Increment = [
  key: string,
  /** The window's length in ms. */
  ttl: number,
  limit: number,
  /** How long a client is blocked after a refused request, in ms. 0: until a request fits again. */
  blockDuration: number,
  throttlerName: string,
]

/** What the storage answers to the guard. Times are in whole seconds, rounded up. */
export interface ThrottlerRecord {
  /** The key's requests in the window. One more than the limit: the request is refused. */
  totalHits: number
  /** Seconds until there is room again. */
  timeToExpire: number
  /** Whether the request is refused. */
  isBlocked: boolean
  /** Seconds until requests pass again; 0 if the request passes. */
  timeToBlockExpire: number
}

/**
 * Makes the option `storage` for @nestjs/throttler 6. It counts in any Tollgate store, in exact sliding windows by default. Nest
 * closes it with the application.
 *
 * @param store such as `redisStore(client)`
 * @throws {ConfigError} when an argument is wrong
 * @example
 * ThrottlerModule.forRoot({
 *   throttlers: [{ ttl: 60_000, limit: 100, blockDuration: 0 }],
 *   storage: tollgateStore(redisStore(client)),
 * })
 */
export function tollgateStore(store: Store, options: StoreOptions = {}): TollgateStorage {
  return atCaller(tollgateStore, () => new TollgateStorage(store, options))
}

/** What `tollgateStore` returns for @nestjs/throttler, which calls its methods. You may need `limiter`. */
export class TollgateStorage {
  /** Shows decisions and store errors: `storage.limiter.on('storeError', ...)`, `stats()`, `health()`. */
  readonly limiter: Limiter
  readonly #hits: Counter
  /** A block is a unit taken here for the block's length, so it holds in all processes. */
  readonly #blocks: Counter
  readonly #known: Blocks

  /** Called by `tollgateStore`. @throws {ConfigError} when an argument is wrong */
  constructor(store: Store, options: StoreOptions = {}) {
    const backed = atCaller(TollgateStorage, () => backing(store, options))
    this.limiter = backed.limiter
    this.#hits = new Counter({ ...backed, windowName: 'ttl' })
    const algorithm = backed.forRefusals
    this.#blocks = new Counter({ ...backed, algorithm, windowName: 'blockDuration', group: 'block' })
    this.#known = new Blocks(backed.now)
  }

  /**
   * Counts a request, unless it is refused. With a `blockDuration`, the first refused request begins a block. Requests that the
   * block refuses do not make it longer. The guard calls this.
   *
   * @throws {ConfigError} when a number cannot be a limit, or the name of a throttler is not well-formed
   * @throws {StoreUnavailableError} if the store cannot answer and `onStoreFailure` is `closed`
   */
  async increment(...[key, ttl, limit, blockDuration, name]: Increment): Promise<ThrottlerRecord> {
    const asked = {
      // The encoded name has no space, so throttlers stay apart even if they make their own keys.
      id: `${encodeName(name, 'name')} ${key}`,
      limited: { quota: quotaOf(limit, 'limit'), windowMs: ttl },
      block: blockDuration > 0 ? { quota: 1, windowMs: blockDuration } : undefined,
    }
    const left = this.#known.leftMs(asked.id)
    if (left > 0) return refusal(asked, left)
    // A limit of 0 lets no request pass. Tollgate has no such limit.
    if (asked.limited.quota === 0) return refusal(asked, Math.max(ttl, blockDuration))
    return this.#decide(asked)
  }

  async #decide(asked: Asked): Promise<ThrottlerRecord> {
    const { id, limited, block } = asked
    // Together, so that both have one deadline.
    const [decision, blocked] = await Promise.all([
      this.#hits.take(id, limited),
      block && this.#blocks.peek(id, block),
    ])
    const hit = hitOf(this.#hits.needAnswer(decision), limited)
    const blockMs =
      blocked && block && !blocked.allowed ? hitOf(this.#blocks.needAnswer(blocked), block).retryAfterMs : 0
    if (blockMs > 0) return this.#refuse(asked, decision, Math.max(blockMs, hit.retryAfterMs))
    if (hit.allowed) return record(hit)
    return this.#refuse(asked, decision, Math.max(await this.#begin(asked), hit.retryAfterMs))
  }

  /** Begins a block, unless another process has just done so. Resolves to the ms until its end. */
  async #begin({ id, block }: Asked): Promise<number> {
    if (!block) return 0
    const decision = await this.#blocks.take(id, block)
    if (!decision.allowed) return hitOf(this.#blocks.needAnswer(decision), block).retryAfterMs
    // In sliding windows this is longer than the window.
    return stateOf(decision)?.resetMs ?? 0
  }

  #refuse(asked: Asked, decision: Decision, waitMs: number): ThrottlerRecord {
    // The request's own window had room, but the block lasts.
    if (decision.allowed) void this.limiter.refund(decision)
    if (asked.block) this.#known.remember(asked.id, waitMs)
    return refusal(asked, waitMs)
  }

  /** Closes the limiter. A Redis client stays open. Nest calls this when the application is closed. */
  async onApplicationShutdown(): Promise<void> {
    await this.limiter.close()
  }
}

interface Asked {
  readonly id: string
  readonly limited: { readonly quota: number; readonly windowMs: number }
  readonly block: { readonly quota: number; readonly windowMs: number } | undefined
}

function record({ used, resetMs }: Hit): ThrottlerRecord {
  return { totalHits: used, timeToExpire: seconds(resetMs), isBlocked: false, timeToBlockExpire: 0 }
}

function refusal({ limited }: Asked, waitMs: number): ThrottlerRecord {
  const wait = Math.max(seconds(waitMs), 1)
  return { totalHits: limited.quota + 1, timeToExpire: wait, isBlocked: true, timeToBlockExpire: wait }
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}
