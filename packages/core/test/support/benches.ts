import { testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, memoryStore, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { closesWithTest, endFaults } from './faults.js'
import { asyncStore } from './stores.js'

/** A clock that tests set, in ms since 1970, with µs as the fraction. */
export interface Clock {
  now: number
}

/** 2026-01-31T12:34:56.789Z */
export const START_MS = 1_769_862_896_789

/** Makes limiters on one kind of store, with a clock that the test sets. They close when the test ends. */
export interface Bench {
  readonly store: 'memory' | 'redis' | 'a store that is not atomic'
  limiter(options: Omit<LimiterOptions, 'store'>, clock: Clock): Limiter
}

// Also for the limiters of the benches: one that stays open reads its list of rules every second, even on a closed client,
// and slows down the files that run later in the same process.
afterEach(endFaults)

let shared: Redis | undefined
const clients: Redis[] = []

/** One connection for the whole test file; `closeBenches` closes it. */
export function sharedRedis(): Redis {
  shared ??= redisOfAnotherProcess()
  return shared
}

/** A connection to the same server, as another process has it: limiters of one process may not share their counters. */
export function redisOfAnotherProcess(): Redis {
  const client = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
  clients.push(client)
  return client
}

export function closeBenches(): void {
  for (const client of clients.splice(0)) client.disconnect()
  shared = undefined
}

export const benches: readonly Bench[] = [
  {
    store: 'memory',
    limiter: (options, clock) => createLimiter({ ...options, store: memoryStore({ now: () => clock.now }) }),
  },
  {
    store: 'redis',
    // Every limiter has its own prefix, so that schedules do not disturb each other.
    limiter: (options, clock) => {
      const store = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })
      return closesWithTest(
        createLimiter({ ...options, store, deadlineMs: 10_000, onStoreFailure: 'closed' }),
      )
    },
  },
]

/** `benches`, and a store that decides each key by itself, as a user's own store may. */
export const jointBenches: readonly Bench[] = [
  ...benches,
  {
    store: 'a store that is not atomic',
    limiter: (options, clock) => {
      const now = (): number => clock.now
      const store = asyncStore({ atomic: false, testClock: now }, memoryStore({ now }))
      return createLimiter({ ...options, store, deadlineMs: 10_000 })
    },
  },
]
