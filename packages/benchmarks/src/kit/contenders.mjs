// The compared limiters. Each is made for a quota and a window, so that every section can give it a load of its own.
import { createRequire } from 'node:module'
import { createLimiter, redisStore } from '@tollgate/core'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

const require = createRequire(import.meta.url)
// Their Redis limiters without the middleware: these packages export no other way in.
const FastifyStore = require('@fastify/rate-limit/store/RedisStore.js')
const KoaLimiter = require('koa-ratelimit/limiter/redis.js')

/**
 * @typedef {object} Contender
 * @property {(id: string) => unknown} decide a decision on a subject, or a promise of one
 * @property {(answer: any, isThrown: boolean) => boolean} allowed whether the answer lets the request pass; throws when
 *   the answer is no decision of the store
 */

/**
 * @typedef {object} Load
 * @property {number} quota    requests in a window
 * @property {number} windowMs whole seconds: rate-limiter-flexible has no other windows
 * @property {string} [prefix] the beginning of keys
 */

/** So long that a noisy machine is not taken for a failed store, in ms. */
const DEADLINE_MS = 10_000

/** As many as Tollgate puts into a batch. */
const LARGEST_BATCH = 128

let made = 0

/**
 * A limiter of Tollgate.
 *
 * @param {boolean} [denials] false: denials are not answered from memory, so that the script itself is measured
 * @param {object}  [options] more options of the limiter
 * @returns {Contender}
 */
export function tollgate(client, limit, { denials = true, storeOptions, ...options } = {}) {
  // A prefix for each, as long as the default one: limiters of a process may not share their counters.
  const prefix = options.prefix ?? `bench-${String((made += 1)).padStart(2, '0')}`
  return tollgateOn(redisStore(client, { prefix, ...storeOptions }), limit, denials)
}

/** @returns {Contender} a limiter of Tollgate on any store */
export function tollgateOn(store, limit, denials = true) {
  const limiter = makeLimiter(
    // With a given number of instances, the limiter has no extra key to count them.
    { store, limit, deadlineMs: DEADLINE_MS, local: { instances: 1 }, warnings: false },
    denials,
  )
  return { decide: (id) => limiter.consume(id), allowed: allowedByTollgate }
}

/**
 * A limiter of Tollgate with one plan that is the same with and without leases.
 *
 * @returns {Contender & { limiter: object }}
 */
export function leasing(store, limits, lease) {
  const limiter = createLimiter({
    ...{ store, plans: { hot: { limits, lease } }, defaultPlan: 'hot' },
    ...{ deadlineMs: DEADLINE_MS, local: { instances: 1 }, warnings: false },
  })
  return { decide: (id) => limiter.consume(id), allowed: allowedByTollgate, limiter }
}

/** A limiter without the option `denials` has no denials from memory either. */
function makeLimiter(options, denials) {
  if (denials) return createLimiter(options)
  try {
    return createLimiter({ ...options, denials: false })
  } catch (error) {
    if (error.code !== 'ERR_TOLLGATE_CONFIG' && error.name !== 'ConfigError') throw error
    return createLimiter(options)
  }
}

const FAILED = ['local', 'open', 'closed']

function allowedByTollgate(answer, isThrown) {
  if (isThrown || FAILED.includes(answer.source)) throw wrong(answer)
  return answer.allowed
}

/** A bare INCR, and nothing else. @returns {Contender} */
export const incr = (client, prefix = 'incr') => ({
  decide: (id) => client.incr(`${prefix}:${id}`),
  allowed: (count, isThrown) => isNumber(count, isThrown),
})

const ONE_KEY = `local time = redis.call('TIME')
local old = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], (old or 0) + 1, 'PX', ARGV[1])
return time[1] * 1000000 + time[2]`

/** A script that reads the time and one key and writes the key: what no limiter with a script goes below. */
export async function bareScript(client, prefix = 'bare') {
  const sha = await client.script('LOAD', ONE_KEY)
  return { decide: (id) => client.evalsha(sha, 1, `${prefix}:${id}`, 60_000), allowed: isNumber }
}

const EACH_KEY = `local call, packBytes = redis.call, struct.pack
local values, reply = call('MGET', unpack(KEYS)), {}
for i = 1, #KEYS do
  call('SETRANGE', KEYS[i], '0', values[i] or packBytes('>I1I7I3', 1, 2, 3))
  reply[2 * i - 1], reply[2 * i] = 1, 2
end
return reply`

/**
 * A script that reads and writes each key of a batch, and answers two numbers for each: what no limiter that gathers
 * requests goes below.
 */
export async function bareBatches(client, prefix = 'batch') {
  const sha = await client.script('LOAD', EACH_KEY)
  let waiting = []
  const send = async () => {
    const batch = waiting
    waiting = []
    if (batch.length === 0) return
    const keys = batch.map(({ id }) => `${prefix}:${id}`)
    try {
      const answers = await client.evalsha(sha, keys.length, ...keys)
      batch.forEach(({ resolve }, i) => resolve(answers[2 * i]))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const decide = (id) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ id, resolve, reject }) === LARGEST_BATCH) void send()
      else if (waiting.length === 1) setImmediate(send)
    })
  return { decide, allowed: isNumber }
}

function isNumber(answer, isThrown) {
  if (isThrown || !(answer > 0)) throw wrong(answer)
  return true
}

/** express-rate-limit counts by the store's `increment`. @returns {Contender} */
export function expressRateLimit(client, { quota, windowMs, prefix = 'rl:' }) {
  const store = new RedisStore({ prefix, sendCommand: (...args) => client.call(...args) })
  void store.init({ windowMs })
  return {
    decide: (id) => store.increment(id),
    allowed: ({ totalHits }, isThrown) => isNumber(totalHits, isThrown) && totalHits <= quota,
  }
}

/** @returns {Contender} */
export function fastifyRateLimit(client, { quota, windowMs, prefix }) {
  const store = new FastifyStore(false, false, client, prefix)
  const decide = (id) =>
    new Promise((resolve, reject) => {
      store.incr(id, (error, answer) => (error ? reject(error) : resolve(answer)), windowMs, quota)
    })
  return {
    decide,
    allowed: ({ current }, isThrown) => isNumber(current, isThrown) && current <= quota,
  }
}

/** @returns {Contender} */
export function koaRateLimit(client, { quota, windowMs, prefix: namespace = 'limit' }) {
  // The middleware makes one for each request, too.
  const decide = (id) => new KoaLimiter({ db: client, max: quota, duration: windowMs, namespace, id }).get()
  return {
    decide,
    allowed: ({ remaining, total }, isThrown) => isNumber(total, isThrown) && remaining > 0,
  }
}

/** @returns {Contender} */
export function flexible(client, { quota, windowMs, prefix: keyPrefix = 'rlflx' }, options) {
  const limiter = new RateLimiterRedis({
    ...{ storeClient: client, points: quota, duration: windowMs / 1000, keyPrefix },
    ...options,
  })
  return { decide: (id) => limiter.consume(id), allowed: allowedByFlexible }
}

/** The same, and it keeps in memory who is over the quota. @returns {Contender} */
export const flexibleBlock = (client, load) => flexible(client, load, { inMemoryBlockOnConsumed: load.quota })

/** It throws its denials, and real errors, too. */
export function allowedByFlexible(answer, isThrown) {
  if (!(answer?.msBeforeNext > 0)) throw wrong(answer)
  return !isThrown
}

function wrong(answer) {
  const text = answer instanceof Error ? answer.message : JSON.stringify(answer)
  return new Error(`Not a right decision: ${text}`, { cause: answer })
}
