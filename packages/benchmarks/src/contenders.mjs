// Who is compared: each a function of a subject's id that resolves when the decision is there.
import { createLimiter, redisStore } from '@tollgate/core'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

/** Plenty, so that all are allowed. */
const QUOTA = 100_000
const MINUTE_MS = 60_000

export const BASELINE = 'INCR'
export const PEERS = ['rate-limiter-flexible', 'express-rate-limit']

/** Tollgate's limits by the name of the row. */
export const limits = {
  'sliding-log 100/min': '100/min',
  'sliding-log 3000/min': '3000/min',
  'sliding-window': { quota: QUOTA, window: 'min', algorithm: 'sliding-window' },
  'fixed-window': { quota: QUOTA, window: 'min', algorithm: 'fixed-window' },
  'token-bucket': { quota: QUOTA, window: 'min', algorithm: 'token-bucket' },
  '3 limits: 3 buckets': ['10000/s burst 10000', '12000/min burst 12000', '24000/h burst 24000'],
  '3 limits: pro plan': ['5000/s burst 10000', '20000/min', '5000000/month'],
  'one key over its limit': '10/min',
}

/** Rows whose requests all have the same key. */
export const FLOOD = 'one key over its limit'

export function createContenders(client) {
  const tollgate = Object.entries(limits).map(([name, limit]) => [
    name,
    tollgateOn(client, limit, name === FLOOD),
  ])
  return new Map([
    [BASELINE, (id) => client.incr(`incr:${id}`)],
    ...tollgate,
    ['rate-limiter-flexible', flexible(client)],
    ['express-rate-limit', expressRateLimit(client)],
  ])
}

export function tollgateOn(client, limit, isFlood = false, prefix = 'tollgate') {
  const limiter = createLimiter({ limit, store: redisStore(client, { prefix }), deadlineMs: 10_000 })
  limiter.on('storeError', (error) => {
    throw error
  })
  return isFlood ? () => limiter.consume('flood') : (id) => limiter.consume(id)
}

function flexible(client) {
  const limiter = new RateLimiterRedis({ storeClient: client, points: QUOTA, duration: 60, keyPrefix: 'rlf' })
  return (id) => limiter.consume(id)
}

function expressRateLimit(client) {
  const store = new RedisStore({ sendCommand: (...args) => client.call(...args) })
  store.init({ windowMs: MINUTE_MS })
  return (id) => store.increment(id)
}
