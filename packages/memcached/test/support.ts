import { createLimiter, type Decision, type Limiter, type LimiterOptions } from '@tollgate/core'
import type { Store } from '@tollgate/core/store'
import { randomBytes } from 'node:crypto'
import { memcachedStore, type Memcached, type MemcachedStoreOptions } from '../src/index.ts'

/** A prefix that no other test has, so that all may use one server. */
export function newPrefix(): string {
  return `t${randomBytes(6).toString('hex')}`
}

/** A store as another process has it. In one process two limiters on the same keys need names. */
export function storeOfAnotherProcess(servers: Memcached, options?: MemcachedStoreOptions): Store {
  return Object.defineProperty(memcachedStore(servers, options), 'space', { value: {} })
}

/** As many processes as a test wants: limiters with a connection each, and nothing in common but the server. */
export class Processes {
  readonly #limiters: Limiter[] = []

  start(
    servers: Memcached,
    options: LimiterOptions,
    store: MemcachedStoreOptions = { prefix: newPrefix() },
  ): Limiter {
    const limiter = createLimiter({
      // A slow machine must not let the failure policy decide where a test asks for the store.
      deadlineMs: 20_000,
      denials: false,
      ...options,
      store: storeOfAnotherProcess(servers, store),
    })
    this.#limiters.push(limiter)
    return limiter
  }

  async stop(): Promise<void> {
    await Promise.all(this.#limiters.splice(0).map((limiter) => limiter.close()))
  }
}

/** How many of some decisions let the request in. */
export function allowed(decisions: readonly Decision[]): number {
  return decisions.filter((decision) => decision.allowed).length
}

/** So many requests at once. */
export async function consumeAll(limiter: Limiter, id: string, times: number, cost = 1): Promise<Decision[]> {
  return Promise.all(Array.from({ length: times }, async () => limiter.consume(id, { cost })))
}
