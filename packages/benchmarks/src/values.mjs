// What a subject's value costs Redis where it could grow: node packages/benchmarks/src/values.mjs [windows] [refunds]
// Needs a build. Starts a redis-server of its own, or uses the empty one at REDIS_URL. Some 20 s.
import { createLimiter, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { commandUs, exitOnSignals, startRedis } from './kit/redis.mjs'

const HOUR_MS = 3_600_000
const AT_ONCE = 64
/** Calls whose time is measured. */
const MEASURED = 50
const say = (...columns) =>
  process.stdout.write(`${columns.map((one) => String(one).padStart(14)).join('')}\n`)
const options = { deadlineMs: 10_000, onStoreFailure: 'closed', denials: false, local: { instances: 1 } }

exitOnSignals()
const redis = await startRedis()
const client = new Redis(redis.url, { autoResendUnfulfilledCommands: false })
const wanted = process.argv.slice(2)
for (const [name, measure] of Object.entries({ windows, refunds })) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  await client.flushdb()
  await measure()
}
client.disconnect()
redis.stop()

/** One subject whose own limits have another window at each request. */
async function windows() {
  process.stdout.write('\nA subject whose own limits have another window at each request\n')
  say('windows', 'bytes', 'a call, us')
  const limiter = createLimiter({ limit: '5/min', store: redisStore(client), ...options })
  const consume = (i) =>
    limiter.consume({ id: 'acme', limits: [{ quota: 1_000_000, window: HOUR_MS + 1000 * i }] })
  let next = 0
  for (const until of [10, 100, 1000, 3000]) {
    for (; next < until; next += 1) await consume(next)
    const us = await commandUs(client, async () => {
      for (; next < until + MEASURED; next += 1) await consume(next)
    })
    say(until, await client.strlen('tollgate/acme'), (us / MEASURED).toFixed(0))
  }
  await limiter.close()
}

/** What refunds leave beside their subjects, and Redis's time for them and for the requests of a subject that had some. */
async function refunds() {
  process.stdout.write('\nRefunds\n')
  say('subjects', 'refunds each', 'in a call', 'keys', 'bytes each', 'refund, us', 'consume, us')
  for (const [subjects, each, atOnce] of [
    [1, 1, 1],
    [1, 10, 1],
    [1, 2000, 1],
    [2000, 1, 1],
    [1, 20_000, AT_ONCE],
    [100, 200, AT_ONCE],
    [20_000, 1, AT_ONCE],
  ]) {
    await client.flushdb('SYNC')
    const limiter = createLimiter({
      limit: { quota: 1_000_000, window: 'h', algorithm: 'token-bucket' },
      store: redisStore(client),
      ...options,
    })
    const count = subjects * each
    const consume = (i, cost) => limiter.consume(`user-${i % subjects}`, { cost })
    const taken = await inBatches(count, atOnce, (i) => consume(i, 2))
    const us = await commandUs(client, () => inBatches(count, atOnce, (i) => limiter.settle(taken[i], 1)))
    const ids = await client.keys('tollgate/=*')
    const bytes = await inBatches(ids.length, AT_ONCE, (i) => client.memory('USAGE', ids[i]))
    const consumeUs = await commandUs(client, () => inBatches(count, atOnce, (i) => consume(i, 1)))
    say(
      subjects,
      each,
      atOnce,
      ids.length,
      (bytes.reduce((sum, one) => sum + one, 0) / count).toFixed(1),
      (us / count).toFixed(1),
      (consumeUs / count).toFixed(1),
    )
    await limiter.close()
  }
}

/** Asks `count` times, so many at once, and returns the answers in order. */
async function inBatches(count, atOnce, ask) {
  const answers = []
  for (let first = 0; first < count; first += atOnce) {
    const size = Math.min(atOnce, count - first)
    answers.push(...(await Promise.all(Array.from({ length: size }, (_, i) => ask(first + i)))))
  }
  return answers
}
