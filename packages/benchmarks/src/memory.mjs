// Bytes of Redis memory per subject, for some numbers of requests in its window.
import { BUCKETS_3, limits, PRO_3, tollgate } from './contenders.mjs'
import { usedMemory } from './redis.mjs'

const AT_ONCE = 500
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MONTH_MS = 30 * 24 * HOUR_MS

/** Requests in the window, and enough subjects to measure them. A quick run has a tenth of the subjects. */
const CASES = [
  { requests: 1, subjects: 10_000 },
  { requests: 100, subjects: 10_000 },
  { requests: 1000, subjects: 1000 },
]

/** The log that many articles show: a sorted set of server times, each with a unique member. */
const ZSET_LOG = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 3600000000)
if redis.call('ZCARD', KEYS[1]) >= 1000 then return 0 end
redis.call('ZADD', KEYS[1], now, string.format('%.0f', now) .. ':' .. ARGV[1])
redis.call('PEXPIRE', KEYS[1], 3600000)
return 1`

export const PRO_SPREAD = `${PRO_3}, over a minute`
export const EXACT = 'sliding-log 1000/min, exact'
const ZSET = 'log in a sorted set'

/** A limit, and the time over which its requests are spread, in ms. */
const ROWS = {
  [EXACT]: [{ quota: 1000, window: 'min', precision: '1ms' }, MINUTE_MS],
  'sliding-log 1000/min': ['1000/min', MINUTE_MS],
  'token-bucket 1000/min': [{ quota: 1000, window: 'min', algorithm: 'token-bucket' }, MINUTE_MS],
  [BUCKETS_3]: [limits[BUCKETS_3], HOUR_MS],
  [PRO_SPREAD]: [limits[PRO_3], MINUTE_MS],
  [`${PRO_3}, over a month`]: [limits[PRO_3], MONTH_MS],
}

/** @returns {Promise<{ cases: typeof CASES, results: Map<string, number[]> }>} bytes per subject for each case */
export async function measureMemory(client, monitor, { isQuick }) {
  const cases = CASES.map((size) => ({ ...size, subjects: isQuick ? size.subjects / 10 : size.subjects }))
  const rows = Object.entries(ROWS).map(([name, row]) => [name, spreadOut(client, ...row)])
  rows.push([ZSET, () => zsetLog(client)])
  const results = new Map()
  for (const [name, create] of rows) {
    const bytes = []
    for (const size of cases) bytes.push(await measureCase({ client, monitor }, create(size), size))
    results.set(name, bytes)
  }
  return { cases, results }
}

/**
 * Spreads the requests of a subject evenly over the window, by a clock of this program. In real time a run would take
 * the whole window; without spreading, all requests would fall into a few slots of a log and take less memory.
 */
function spreadOut(client, limit, windowMs) {
  return ({ requests }) => {
    const began = Date.now()
    let nowMs = began
    const { decide, isRight } = tollgate(client, limit, { now: () => nowMs })
    const startRound = (round) => (nowMs = began + (round * windowMs) / (requests + 1))
    return { decide, isRight, startRound }
  }
}

function zsetLog(client) {
  client.defineCommand('zsetLog', { lua: ZSET_LOG, numberOfKeys: 1 })
  let round = 0
  return {
    decide: (id) => client.zsetLog(`zset:${id}`, round),
    isRight: (answer) => answer === 1,
    startRound: (next) => (round = next),
  }
}

/** Goes over all subjects in rounds, like requests of many tenants. */
async function measureCase({ client, monitor }, filler, { requests, subjects }) {
  await client.flushdb('SYNC')
  for (let round = 0; round < requests; round += 1) {
    filler.startRound(round)
    await fillRound(filler, subjects)
  }
  const left = await monitor.dbsize()
  if (left !== subjects) throw new Error(`${left} keys for ${subjects} subjects: some expired while measured`)
  const full = await usedMemory(monitor)
  // The empty size is measured after the full one, since scripts and client buffers are in memory only then.
  await client.flushdb('SYNC')
  return (full - (await usedMemory(monitor))) / subjects
}

async function fillRound({ decide, isRight }, subjects) {
  for (let first = 0; first < subjects; first += AT_ONCE) {
    const size = Math.min(AT_ONCE, subjects - first)
    const answers = await Promise.all(Array.from({ length: size }, (_, i) => decide(`user-${first + i}`)))
    const wrong = answers.find((answer) => !isRight(answer))
    if (wrong !== undefined) throw new Error(`Not a right decision: ${JSON.stringify(wrong)}`)
  }
}
