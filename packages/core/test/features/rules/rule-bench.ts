import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'
import type { Store } from '../../../src/store.js'
import { redisOfAnotherProcess } from '../../support/benches.js'

/** Limiters that share their rules, as those of several processes do. */
export interface RuleBench {
  readonly kind: 'memory' | 'redis'
  /** A limiter of the same application; with `other`, in another process. */
  limiter(options?: Partial<LimiterOptions>, where?: 'here' | 'there'): Limiter
  close(): Promise<void>
}

export type MakeBench = () => RuleBench

/** On Redis, limiters of two processes: each has a client of its own, and so its own copy of the rules. */
export function redisBench(): RuleBench {
  const prefix = testPrefix()
  const made: Limiter[] = []
  const stores = new Map<string, Store>()
  return {
    kind: 'redis',
    limiter(options = {}, where = 'here') {
      const store = stores.get(where) ?? redisStore(redisOfAnotherProcess(), { prefix })
      stores.set(where, store)
      const limiter = createLimiter({
        limit: '3/min',
        deadlineMs: 10_000,
        store,
        ...options,
      } as LimiterOptions)
      made.push(limiter)
      return limiter
    },
    close: () => closeAll(made),
  }
}

/** In memory, there is one process. */
export function memoryBench(): RuleBench {
  const store = memoryStore()
  const made: Limiter[] = []
  return {
    kind: 'memory',
    limiter(options = {}) {
      const limiter = createLimiter({ limit: '3/min', store, ...options } as LimiterOptions)
      made.push(limiter)
      return limiter
    },
    close: () => closeAll(made),
  }
}

async function closeAll(limiters: Limiter[]): Promise<void> {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
}

export async function listed(limiter: Limiter, of?: string): Promise<object[]> {
  const rules: object[] = []
  for await (const rule of limiter.rules(of === undefined ? undefined : { of })) rules.push(rule)
  return rules
}

/** The error of a promise that is to be rejected later. */
export async function refusalOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error('it was not rejected'),
    (error: unknown) => error,
  )
}
