// The compared programs. A contender decides on a subject's id, and checks that the result is a valid answer.
import { createLimiter, redisStore } from '@tollgate/core'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

/**
 * @typedef {object} Contender
 * @property {(id: string) => unknown} decide a decision, or a promise of one
 * @property {(answer: any) => boolean} isRight true when the contender decided, false for a fallback or an error
 */

/** So large that all requests are allowed. */
const QUOTA = 100_000
const MINUTE_MS = 60_000
/** So long that a noisy machine is not taken for a failed store, in ms. */
const DEADLINE_MS = 10_000

export const BASELINE = 'INCR'
/** The same code as the baseline. Differences as small as that between the two cannot be measured in this run. */
export const CONTROL = 'INCR, again'
export const PEERS = ['rate-limiter-flexible', 'express-rate-limit']
export const BUCKETS_3 = '3 limits: 3 buckets'
export const PRO_3 = '3 limits: pro plan'

/** Tollgate's limits by the name of the row. */
export const limits = {
  'sliding-log 100/min': '100/min',
  'sliding-log 3000/min': '3000/min',
  'sliding-window': { quota: QUOTA, window: 'min', algorithm: 'sliding-window' },
  'fixed-window': { quota: QUOTA, window: 'min', algorithm: 'fixed-window' },
  'token-bucket': { quota: QUOTA, window: 'min', algorithm: 'token-bucket' },
  [BUCKETS_3]: ['10000/s burst 10000', '12000/min burst 12000', '24000/h burst 24000'],
  [PRO_3]: ['50/s burst 100', '20000/min', '5000000/month'],
}

/** @returns {Map<string, Contender>} */
export function createContenders(client) {
  const incr = { decide: (id) => client.incr(`incr:${id}`), isRight: (count) => count > 0 }
  return new Map([
    [BASELINE, incr],
    ...Object.entries(limits).map(([name, limit]) => [name, tollgate(client, limit)]),
    ['one key over its limit', flood(client)],
    [CONTROL, incr],
    ['rate-limiter-flexible', flexible(client)],
    ['express-rate-limit', expressRateLimit(client)],
  ])
}

let made = 0

/** @returns {Contender} */
export function tollgate(client, limit, storeOptions) {
  // A prefix for each, as long as the default one: limiters of a process may not share their counters.
  const prefix = `bench-${String((made += 1)).padStart(2, '0')}`
  const limiter = createLimiter({
    store: redisStore(client, { prefix, ...storeOptions }),
    plans: { measured: limit },
    defaultPlan: 'measured',
    deadlineMs: DEADLINE_MS,
    // With a given number of instances, the limiter has no extra key to count them.
    local: { instances: 1 },
  })
  return {
    decide: (id) => limiter.consume({ id, plan: 'measured' }, { cost: 1 }),
    isRight: ({ allowed, source }) => allowed && source === 'store',
  }
}

function flood(client) {
  const { decide } = tollgate(client, '10/min')
  return { decide: () => decide('flood'), isRight: ({ source }) => source === 'store' }
}

function flexible(client) {
  const limiter = new RateLimiterRedis({ storeClient: client, points: QUOTA, duration: 60, keyPrefix: 'rlf' })
  return { decide: (id) => limiter.consume(id), isRight: ({ consumedPoints }) => consumedPoints > 0 }
}

function expressRateLimit(client) {
  const store = new RedisStore({ sendCommand: (...args) => client.call(...args) })
  void store.init({ windowMs: MINUTE_MS })
  return { decide: (id) => store.increment(id), isRight: ({ totalHits }) => totalHits > 0 }
}
