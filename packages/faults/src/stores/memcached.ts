import { MEMCACHED_FAULTS } from '../faults/memcached.ts'
import type { StoreUnderTest } from './store.ts'

/** In ms: much more than clocks may differ. */
const WINDOW_MS = 1000

export const MEMCACHED: StoreUnderTest = {
  name: 'memcached',
  title: 'Memcached',
  faults: MEMCACHED_FAULTS,
  // The store's own connection, and the client of a user.
  clientOf: { express: 'address', fastify: 'memjs', koa: 'address' },
  plans: {
    // As large as on Redis, in requests per second.
    large: { quota: 240, windowMs: WINDOW_MS },
    // So small that the flooding tenant asks for more than four times of it in the windows that are judged.
    small: { quota: 12, windowMs: WINDOW_MS },
  },
  // Sliding windows of two counters: just under two quotas.
  mostOf: (quota) => 2 * quota - 1,
  clocksPartMs: 250,
}
