import { MEMCACHED } from './memcached.ts'
import { REDIS } from './redis.ts'
import type { StoreUnderTest } from './store.ts'

/** The stores that are put through faults, in the order of the tables. */
export const STORES: readonly StoreUnderTest[] = [REDIS, MEMCACHED]
