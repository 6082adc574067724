import { testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, memoryStore, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { asyncStore } from './stores.js'

/** A clock that tests set, in ms since 1970; parts of a ms are whole µs. */
export interface Clock {
  now: number
}

/** 2026-01-31T12:34:56.789Z */
export const START_MS = 1_769_862_896_789

/** A store on a clock of our own, to try laws on. */
export interface Bench {
  readonly store: 'memory' | 'redis' | 'a store that is not atomic'
  limiter(options: Omit<LimiterOptions, 'store'>, clock: Clock): Limiter
}

let shared: Redis | undefined
const clients: Redis[] = []

/** One connection a test file; closed by `closeBenches`. */
export function sharedRedis(): Redis {
  shared ??= redisOfAnotherProcess()
  return shared
}

/** A connection to the same server, as another process has it: limiters of one process may not share their counters. */
export function redisOfAnotherProcess(): Redis {
  const client = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false })
  clients.push(client)
  return client
}

export async function closeBenches(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.quit()))
  shared = undefined
}

export const benches: readonly Bench[] = [
  {
    store: 'memory',
    limiter: (options, clock) => createLimiter({ ...options, store: memoryStore({ now: () => clock.now }) }),
  },
  {
    store: 'redis',
    // Every limiter has keys of its own, so that schedules do not disturb each other.
    limiter: (options, clock) => {
      const store = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })
      return createLimiter({ ...options, store, deadlineMs: 10_000, onStoreFailure: 'closed' })
    },
  },
]

/** Also on one like a store of the user's own that decides each key for itself. */
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
