// Bytes of Redis memory that a subject takes, by how many requests are in its window.
import { limits, tollgateOn } from './contenders.mjs'
import { usedMemory } from './redis.mjs'

/** Requests in the window, and subjects enough to measure it. */
const CASES = [
  { requests: 1, subjects: 10_000 },
  { requests: 100, subjects: 10_000 },
  { requests: 1000, subjects: 1000 },
]

/** The log that articles show: a sorted set of server times, each with a member of its own. */
const ZSET_LOG = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3600000000)
if redis.call('ZCARD', KEYS[1]) >= 5000 then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[1])
redis.call('PEXPIRE', KEYS[1], 3600000)
return 1`

/** An hour, so that nothing leaves while it is measured; requests of a subject come over 1 ms apart, so none merge. */
const rows = {
  'sliding-log, exact': { quota: 1000, window: 'h', precision: 1 },
  'sliding-log, 128 slots': '1000/h',
  'token-bucket': { quota: 1000, window: 'h', algorithm: 'token-bucket' },
  '3 limits: 3 buckets': limits['3 limits: 3 buckets'],
  '3 limits: pro plan': limits['3 limits: pro plan'],
}

/** @returns for each row the bytes a subject in each case */
export async function measureMemory(client) {
  const contenders = Object.entries(rows).map(([name, limit]) => [name, tollgateOn(client, limit)])
  contenders.push(['ZSET log', (id, n) => client.eval(ZSET_LOG, 1, `zset:${id}`, n)])
  const results = new Map()
  for (const [name, decide] of contenders) {
    const bytes = []
    for (const size of CASES) bytes.push(await measureCase(client, decide, size))
    results.set(name, bytes)
  }
  return { cases: CASES, results }
}

async function measureCase(client, decide, { requests, subjects }) {
  await client.flushdb()
  const before = await usedMemory(client)
  for (let n = 0; n < requests; n += 1) {
    for (let first = 0; first < subjects; first += 500) {
      await Promise.all(
        Array.from({ length: Math.min(500, subjects) }, (_, i) => decide(`user-${first + i}`, n)),
      )
    }
  }
  return ((await usedMemory(client)) - before) / subjects
}
