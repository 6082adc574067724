import type { Store } from '@tollgate/core'
import { atCaller } from '@tollgate/core/store'
import { TollgateStore } from './hit-store.js'
import type { StoreOptions } from './store-options.js'

export type { ClientHits } from './hit-store.js'
export type { StoreOptions } from './store-options.js'
export { TollgateStore } from './hit-store.js'
export { StoreUnavailableError } from './unavailable.js'

/**
 * Makes the option `store` for hono-rate-limiter's `rateLimiter` and `webSocketLimiter`. It counts in any Tollgate store, in exact
 * sliding windows by default. Make one for each middleware.
 *
 * @param store such as `redisStore(client)`
 * @throws {ConfigError} when an argument is wrong
 * @example
 * app.use(rateLimiter({ windowMs: 60_000, limit: 100, keyGenerator, store: tollgateStore(redisStore(client)) }))
 */
export function tollgateStore(store: Store, options: StoreOptions = {}): TollgateStore {
  return atCaller(tollgateStore, () => new TollgateStore(store, options))
}
