import type { Decision, Limiter, Store } from '@tollgate/core'
import { atCaller } from '@tollgate/core/store'
import { Blocks } from './blocks.js'
import { Counter } from './counter.js'
import { hitOf, stateOf, type Hit } from './hit.js'
import { encodeName, quotaOf } from './limited.js'
import { backing, type StoreOptions } from './store-options.js'

export type { StoreOptions } from './store-options.js'
export { StoreUnavailableError } from './unavailable.js'

/** What the guard asks with. */
export type Increment = [
  key: string,
  /** ms */
  ttl: number,
  limit: number,
  /** ms; 0: requests pass again as soon as they fit. */
  blockDuration: number,
  throttlerName: string,
]

/** What the guard is told. Times in whole seconds, rounded up. */
export interface ThrottlerRecord {
  totalHits: number
  timeToExpire: number
  isBlocked: boolean
  timeToBlockExpire: number
}

/**
 * The `storage` of @nestjs/throttler 6: it counts in any store of Tollgate, in exact sliding windows. Nest closes it when
 * the application is closed.
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

export class TollgateStorage {
  /** Tells of decisions and of the store's faults: `storage.limiter.on('storeError', ...)`, `stats()`, `health()`. */
  readonly limiter: Limiter
  readonly #hits: Counter
  /** One unit of these, taken for the length of a block, is the block: so it holds in all processes. */
  readonly #blocks: Counter
  readonly #known: Blocks

  constructor(store: Store, options: StoreOptions = {}) {
    const backed = atCaller(TollgateStorage, () => backing(store, options))
    this.limiter = backed.limiter
    this.#hits = new Counter({ ...backed, windowName: 'ttl' })
    const algorithm = backed.forRefusals
    this.#blocks = new Counter({ ...backed, algorithm, windowName: 'blockDuration', group: 'block' })
    this.#known = new Blocks(backed.now)
  }

  /**
   * Counts a request, unless it is refused. The first that is refused begins a block, if there is a `blockDuration`;
   * those that are refused by it do not make it longer. Called by the guard.
   *
   * @throws {ConfigError} when a number cannot be a limit
   * @throws {StoreUnavailableError} if the store cannot answer and `onStoreFailure` is `closed`
   */
  async increment(...[key, ttl, limit, blockDuration, name]: Increment): Promise<ThrottlerRecord> {
    const asked = {
      // So that throttlers with keys of their own making are kept apart by their names, which have no space then.
      id: `${encodeName(name, 'name')} ${key}`,
      limited: { quota: quotaOf(limit, 'limit'), windowMs: ttl },
      block: blockDuration > 0 ? { quota: 1, windowMs: blockDuration } : undefined,
    }
    const left = this.#known.leftMs(asked.id)
    if (left > 0) return refusal(asked, left)
    // A limit of 0 lets nobody pass, and is none to Tollgate.
    if (asked.limited.quota === 0) return refusal(asked, Math.max(ttl, blockDuration))
    return this.#decide(asked)
  }

  async #decide(asked: Asked): Promise<ThrottlerRecord> {
    const { id, limited, block } = asked
    // At once, so that both have one deadline.
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
    // Of windows that slide it is longer than the window.
    return stateOf(decision)?.resetMs ?? 0
  }

  #refuse(asked: Asked, decision: Decision, waitMs: number): ThrottlerRecord {
    // Its own window had room while the block lasts.
    if (decision.allowed) void this.limiter.refund(decision)
    if (asked.block) this.#known.remember(asked.id, waitMs)
    return refusal(asked, waitMs)
  }

  /** Called by Nest. The store is let go of; a Redis client stays open. */
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
