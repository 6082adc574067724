// Requests that were let in, and that a route then asks more for.
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  redisStore,
  type ConsumeOptions,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type ScopeOptions,
  type Subject,
} from '../../src/index.js'
import { internalsOf } from '../../src/limiter/internals.js'
import { sharedRedis } from './benches.js'
import { closesWithTest } from './faults.js'

export const acme: Subject = { id: 'acme' }

type WithoutStore = Omit<LimiterOptions, 'store'>

export const inMemory = (options: WithoutStore): Limiter =>
  closesWithTest(createLimiter(options as LimiterOptions))

export function onRedis(options: WithoutStore): Limiter {
  const store = redisStore(sharedRedis(), { prefix: testPrefix() })
  return closesWithTest(createLimiter({ deadlineMs: 10_000, ...options, store } as LimiterOptions))
}

/** What a route asks for in all. */
export interface Route extends ScopeOptions, ConsumeOptions {
  /** Default: acme. */
  readonly subjects?: readonly Subject[]
  /** The routes around it. */
  readonly within?: readonly ScopeOptions[]
}

/** Decides a request of a route that was let in before, as an adapter does. */
export async function amend(limiter: Limiter, first: Decision, route: Route): Promise<Decision> {
  const { subjects = [acme], cost = first.cost, signal, within = [], ...own } = route
  const { onTop, amend: decide } = internalsOf(limiter)
  const scopes = [...within, own].map((scope) => limiter.scope(scope))
  const consumer = onTop ? scopes.reduce(onTop, limiter) : limiter.scope(own)
  return decide(consumer, { limiter, first, subjects, options: { cost, ...(signal && { signal }) } })
}

/** How many units of each limit acme has left. */
export async function left(limiter: Limiter, scope: ScopeOptions = {}): Promise<number[]> {
  return (await limiter.scope(scope).peek(acme)).limits.map(({ remaining }) => remaining)
}
