// What the three programs share: the limiter, and who calls.
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'

const { REDIS_URL } = process.env

// With Redis all instances count together. Without it each process counts for itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis) : memoryStore()
export const limiter = createLimiter({
  store,
  plans: { free: ['60/min', '2 concurrent'], pro: '10 concurrent' },
  defaultPlan: 'free',
})

// In your app: a look-up in your database.
const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])
export const tenantOf = (key) => tenants.get(String(key))

export const disconnect = () => redis?.disconnect() // quit() would wait for a Redis that hangs
