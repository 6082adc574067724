import { testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, memoryStore, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { asyncStore } from './stores.js'

/** A clock that tests set, in ms since 1970, with µs as decimals. */
export interface Clock {
  now: number
}

/** 2026-01-31T12:34:56.789Z */
export const START_MS = 1_769_862_896_789

/** A store with a test's clock, to try laws on. */
export interface Bench {
  readonly store: 'memory' | 'redis' | 'a store that is not atomic'
  limiter(options: Omit<LimiterOptions, 'store'>, clock: Clock): Limiter
}

let redis: Redis | undefined

/** One connection per test file; `closeBenches` closes it. */
export function sharedRedis(): Redis {
  redis ??= new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false })
  return redis
}

export async function closeBenches(): Promise<void> {
  await redis?.quit()
  redis = undefined
}

export const benches: readonly Bench[] = [
  {
    store: 'memory',
    limiter: (options, clock) => createLimiter({ ...options, store: memoryStore({ now: () => clock.now }) }),
  },
  {
    store: 'redis',
    // A prefix per limiter, so that schedules do not disturb each other.
    limiter: (options, clock) => {
      const store = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })
      return createLimiter({ ...options, store, deadlineMs: 10_000, onStoreFailure: 'closed' })
    },
  },
]

/** The benches, and one more with a store that decides each key separately, as a user's own store may. */
export const jointBenches: readonly Bench[] = [
  ...benches,
  {
    store: 'a store that is not atomic',
    limiter: (options, clock) => {
      const store = asyncStore({ atomic: false }, memoryStore({ now: () => clock.now }))
      return createLimiter({ ...options, store, deadlineMs: 10_000 })
    },
  },
]
