// Decisions a second at 64 in flight, of this store and of those that come with Tollgate, in turns in one run.
// REDIS_URL and POSTGRES_URL name servers to measure, too.
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { sqlStore } from '../src/sql-store.js'
import { openPostgres, openSqlite } from './databases.js'

const { REDIS_URL, POSTGRES_URL } = process.env
const [IN_FLIGHT, SUBJECTS, ROUNDS, ROUND_MS] = [64, 1000, 5, 1000]

/** How many decisions a limiter makes in a second. */
async function measure(limiter) {
  const start = performance.now()
  let decisions = 0
  let next = 0
  const ask = async () => {
    while (performance.now() - start < ROUND_MS) {
      const { source } = await limiter.consume(`subject ${(next = (next + 1) % SUBJECTS)}`)
      if (source !== 'store') throw new Error(`a decision was made by ${source}, not by the store`)
      decisions += 1
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, ask))
  return (decisions * 1000) / (performance.now() - start)
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

const closing = []
const stores = { memory: memoryStore() }
if (REDIS_URL) {
  const redis = new Redis(REDIS_URL, {
    autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
    retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
  })
  closing.push(() => redis.disconnect())
  stores.Redis = redisStore(redis, { prefix: `speed-${process.pid}` })
}
for (const [name, open] of Object.entries({
  SQLite: openSqlite,
  ...(POSTGRES_URL && { PostgreSQL: openPostgres }),
})) {
  const { db, close } = await open()
  closing.push(close)
  stores[name] = sqlStore(db)
}
const limiters = Object.entries(stores).map(([name, store]) => {
  // Every decision is the store's: none is denied, and none comes from the failure policy.
  const limit = { quota: 1_000_000, window: '1 min', algorithm: 'token-bucket' }
  return [name, createLimiter({ limit, store, name: 'speed', deadlineMs: 10_000, onStoreFailure: 'closed' })]
})
const seen = new Map(limiters.map(([name]) => [name, []]))
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [name, limiter] of limiters) {
    const rate = await measure(limiter)
    // The first round warms up.
    if (round > 0) seen.get(name).push(rate)
  }
}
const rates = [...seen].map(([name, all]) => [name, median(all)])
const base = new Map(rates)
for (const [name, rate] of rates) {
  const beside = ['memory', 'Redis'].filter((other) => base.has(other) && other !== name)
  const ratios = beside.map((other) => `${Math.round((100 * rate) / base.get(other))} % of ${other}`)
  console.log(
    `${name}: ${Math.round(rate)} decisions a second${ratios.length > 0 ? `: ${ratios.join(', ')}` : ''}`,
  )
}
for (const [, limiter] of limiters) await limiter.close()
for (const close of closing) await close()
