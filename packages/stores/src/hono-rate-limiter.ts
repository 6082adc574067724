import type { Store } from '@tollgate/core'
import { atCaller } from '@tollgate/core/store'
import { TollgateStore } from './hit-store.js'
import type { StoreOptions } from './store-options.js'

export type { ClientHits } from './hit-store.js'
export type { StoreOptions } from './store-options.js'
export { TollgateStore } from './hit-store.js'
export { StoreUnavailableError } from './unavailable.js'

/**
 * The `store` of hono-rate-limiter, of `rateLimiter` and `webSocketLimiter`: it counts in any store of Tollgate, in exact
 * sliding windows. One for each middleware.
 *
 * @param store such as `redisStore(client)`
 * @throws {ConfigError} when an argument is wrong
 * @example
 * app.use(rateLimiter({ windowMs: 60_000, limit: 100, keyGenerator, store: tollgateStore(redisStore(client)) }))
 */
export function tollgateStore(store: Store, options: StoreOptions = {}): TollgateStore {
  return atCaller(tollgateStore, () => new TollgateStore(store, options))
}
