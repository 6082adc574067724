// A limiter on a Redis that is about to fail, and what is asked of it meanwhile.
import { setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { connect, DEADLINE_MS, server } from './faults.js'

export async function eventually(isTrue: () => boolean | Promise<boolean>, ms = 3000): Promise<void> {
  for (const until = Date.now() + ms; Date.now() < until; await sleep(20)) if (await isTrue()) return
  throw new Error('it did not come true')
}

/** A limiter on a Redis of its own, which knows its scripts. */
export async function start(options: object = {}): Promise<{
  redis: Awaited<ReturnType<typeof server>>
  limiter: Limiter
  left: (id: string) => Promise<number>
}> {
  const redis = await server()
  const store = redisStore(connect(redis.port), { prefix: testPrefix() })
  const limiter = createLimiter({
    limit: '20/min',
    store,
    deadlineMs: DEADLINE_MS,
    local: { instances: 1 },
    ...options,
  } as LimiterOptions)
  // Alone and together, which are two scripts.
  await eventually(async () => (await limiter.consume('warm')).source === 'store')
  await consume(limiter, 'warm', 2)
  const left = async (id: string): Promise<number> => (await limiter.peek(id)).limits[0]?.remaining ?? -1
  return { redis, limiter, left }
}

export const consume = (limiter: Limiter, id: string, count: number): Promise<boolean[]> =>
  Promise.all(Array.from({ length: count }, async () => (await limiter.consume(id)).allowed))
export const allowed = (answers: readonly boolean[]): number => answers.filter(Boolean).length
