// Starts a limiter on a Redis that a test will break, and sends requests to it.
import { eventually, testPrefix } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, server } from './faults.js'

/** Starts a Redis with a limiter on it, and waits until the scripts are loaded. */
export async function start(options: object = {}): Promise<{
  redis: Awaited<ReturnType<typeof server>>
  limiter: Limiter
  /** The client of the limiter. */
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
    warnings: false,
    ...options,
  } as LimiterOptions)
  // One request alone, then two together, because they use different scripts.
  await eventually(async () => (await limiter.consume('warm')).source === 'store')
  await consume(limiter, 'warm', 2)
  const left = async (id: string): Promise<number> => (await limiter.peek(id)).limits[0]?.remaining ?? -1
  return { redis, limiter: closesWithTest(limiter), client, left }
}

/**
 * Waits until the units left are `expected`, and checks that they stay so. A late reply may make the limiter send one
 * more command, and the reply to that another one. Redis answers in order, so further reads show the effect of both.
 */
export async function comesToStay(left: () => Promise<number>, expected: number): Promise<void> {
  await eventually(async () => expect(await left()).toBe(expected))
  for (let i = 0; i < 3; i += 1) expect(await left()).toBe(expected)
}

export const consume = (limiter: Limiter, id: string, count: number): Promise<boolean[]> =>
  Promise.all(Array.from({ length: count }, async () => (await limiter.consume(id)).allowed))
export const allowed = (answers: readonly boolean[]): number => answers.filter(Boolean).length
