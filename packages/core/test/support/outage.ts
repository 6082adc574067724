// A limiter on a Redis that is about to fail, and calls to it.
import { eventually, testPrefix } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, server } from './faults.js'

/** Starts a limiter on a Redis of its own, which has loaded the scripts. */
export async function start(options: object = {}): Promise<{
  redis: Awaited<ReturnType<typeof server>>
  limiter: Limiter
  /** The limiter's client. */
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
  // One request alone and two together, since these use different scripts.
  await eventually(async () => (await limiter.consume('warm')).source === 'store')
  await consume(limiter, 'warm', 2)
  const left = async (id: string): Promise<number> => (await limiter.peek(id)).limits[0]?.remaining ?? -1
  return { redis, limiter: closesWithTest(limiter), client, left }
}

/**
 * Waits until the remaining units are as expected, and checks that they stay. Redis answers in order: whatever the
 * limiter sends after a late reply shows in the second answer, and what it sends after the reply to that, in the third.
 */
export async function comesToStay(left: () => Promise<number>, expected: number): Promise<void> {
  await eventually(async () => expect(await left()).toBe(expected))
  for (let i = 0; i < 3; i += 1) expect(await left()).toBe(expected)
}

export const consume = (limiter: Limiter, id: string, count: number): Promise<boolean[]> =>
  Promise.all(Array.from({ length: count }, async () => (await limiter.consume(id)).allowed))
export const allowed = (answers: readonly boolean[]): number => answers.filter(Boolean).length
