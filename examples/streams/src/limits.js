// What all three programs share: the plans, and who calls.
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'

const { REDIS_URL, REDIS_PREFIX = 'streams', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
export const limiter = createLimiter({
  store,
  plans: { free: ['60/min', '2 concurrent'], pro: '10 concurrent' },
  defaultPlan: 'free',
  deadlineMs: Number(DEADLINE_MS),
})

// In an app of your own: a look-up in your database.
const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])
export const tenantOf = (key) => tenants.get(String(key))

export const disconnect = () => redis?.disconnect() // not quit(), which would wait for a Redis that hangs
