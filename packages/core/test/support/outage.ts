// A limiter on a Redis that is about to fail, and what is asked of it meanwhile.
import { eventually, testPrefix } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, server } from './faults.js'

/** A limiter on a Redis of its own, which knows its scripts. */
export async function start(options: object = {}): Promise<{
  redis: Awaited<ReturnType<typeof server>>
  limiter: Limiter
  /** Of the limiter. */
  client: Redis
  left: (id: string) => Promise<number>
}> {
  const redis = await server()
  const client = connect(redis.port)
  const store = redisStore(client, { prefix: testPrefix() })
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
  return { redis, limiter: closesWithTest(limiter), client, left }
}

/**
 * What is left becomes so, and stays: Redis answers in order, so what a late reply made the limiter send is in the
 * second answer, and what the reply to that made it send in the third.
 */
export async function comesToStay(left: () => Promise<number>, expected: number): Promise<void> {
  await eventually(async () => expect(await left()).toBe(expected))
  for (let i = 0; i < 3; i += 1) expect(await left()).toBe(expected)
}

export const consume = (limiter: Limiter, id: string, count: number): Promise<boolean[]> =>
  Promise.all(Array.from({ length: count }, async () => (await limiter.consume(id)).allowed))
export const allowed = (answers: readonly boolean[]): number => answers.filter(Boolean).length
