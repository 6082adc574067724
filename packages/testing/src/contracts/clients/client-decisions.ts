import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type RedisClient,
  type Store,
} from '@tollgate/core'
import { testPrefix } from '../../redis/test-redis.ts'

const LIMITS = [
  { quota: 7, window: '10s' },
  { quota: 9, window: '1min', algorithm: 'sliding-window', name: 'about' },
  { quota: 11, window: '1min', algorithm: 'fixed-window', name: 'fixed' },
  { quota: 30, window: '1min', algorithm: 'token-bucket', name: 'bucket', burst: 6 },
] as const

/**
 * Compares a Redis store with a memory store under one clock. Both get the same requests: alone, several in a tick,
 * with several subjects, and refunds.
 */
export async function sameAsMemory(client: RedisClient): Promise<void> {
  const clock = { now: 1_769_862_896_789 }
  const now = (): number => clock.now
  const options = { limit: LIMITS, deadlineMs: 5000 }
  const store = redisStore(client, { prefix: testPrefix(), now })
  const redis = createLimiter({ ...options, store })
  const memory = createLimiter({ ...options, store: inAsManyShards(memoryStore({ now }), store) })
  const play = async (limiter: Limiter, step: number): Promise<unknown> => {
    const ids = ['a', 'b', ...(step % 3 === 0 ? ['c', 'd', 'e'] : [])]
    const decisions = await Promise.all(
      ids.map((id, i) => limiter.consume(id, { cost: 1 + ((step + i) % 2) })),
    )
    const joint = await limiter.consume(['f', 'g'])
    const refunded = step % 4 === 0 && (await limiter.refund(decisions[0] as Decision))
    if (step % 17 === 0) await limiter.reset('b')
    return [...decisions, joint, await limiter.peek('a'), refunded].map(toldBy)
  }
  for (let step = 0; step < 60; step += 1) {
    expect(await play(redis, step)).toEqual(await play(memory, step))
    // Units that a denied request took in another shard go back in the next turn.
    await new Promise(setImmediate)
    clock.now += (step * 7919) % 4001
  }
  await Promise.all([redis.close(), memory.close()])
}

/** A memory store with the same shards as another store, so that both decide in the same steps. */
function inAsManyShards(memory: Store, { shards = 1, testClock }: Store): Store {
  return {
    synchronous: false,
    atomic: true,
    shards,
    testClock,
    consume: async (batch) => memory.consume(batch),
    peek: async (batch) => memory.peek(batch),
    refund: async (batch) => memory.refund(batch),
    reset: async (keys, shard) => memory.reset(keys, shard),
  }
}

function toldBy(told: Decision | boolean): unknown {
  if (typeof told === 'boolean') return told
  const { allowed, source, violated, retryAfterMs, limits } = told
  return { allowed, source, violated, retryAfterMs, limits }
}
