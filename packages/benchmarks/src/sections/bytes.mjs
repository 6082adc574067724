// Bytes of Redis memory a subject, with 1, 100 and 1000 requests in its window.
import {
  expressRateLimit,
  fastifyRateLimit,
  flexible,
  incr,
  koaRateLimit,
  tollgate,
} from '../kit/contenders.mjs'
import { LIMITS } from '../kit/field.mjs'
import { usedMemory } from '../kit/redis.mjs'
import * as names from '../names.mjs'

const AT_ONCE = 500
const MINUTE_MS = 60_000
/** Longer than the section takes, so that nothing expires while it is measured. */
const HOUR_MS = 60 * MINUTE_MS

const CASES = [
  { requests: 1, subjects: 10_000 },
  { requests: 100, subjects: 1000 },
  { requests: 1000, subjects: 120 },
]

const OURS = {
  [names.BUCKET]: LIMITS[names.BUCKET],
  [names.WINDOW]: { quota: 1000, window: 'min', algorithm: 'sliding-window' },
  [names.THREE]: LIMITS[names.THREE],
  [names.LOG]: { quota: 1000, window: 'min' },
  [names.LOG_EXACT]: { quota: 1000, window: 'min', precision: '1ms' },
}

export async function measure({ clients: { client }, monitor, isQuick }) {
  const load = { quota: 1_000_000, windowMs: HOUR_MS }
  const peers = {
    [names.BARE_KEY]: bareKey(client),
    [names.INCR]: incr(client),
    [names.EXPRESS]: expressRateLimit(client, load),
    [names.FASTIFY]: fastifyRateLimit(client, load),
    [names.KOA]: koaRateLimit(client, load),
    [names.FLEXIBLE]: flexible(client, load),
  }
  const rows = {}
  for (const one of CASES) {
    const size = { ...one, subjects: isQuick ? one.subjects / 4 : one.subjects }
    const fillers = [
      ...Object.entries(OURS).map(([name, limit]) => [name, spreadOut(client, limit, size)]),
      ...Object.entries(peers).map(([name, contender]) => [name, { ...contender, startRound: () => {} }]),
    ]
    for (const [name, filler] of fillers) {
      const bytes = await measureCase({ client, monitor }, filler, size)
      ;(rows[name] ??= {})[`after ${size.requests}`] = [bytes]
    }
  }
  return { bytes: rows }
}

/** A key as long as Tollgate's, with as few bytes as a time and a level take. */
function bareKey(client) {
  const value = Buffer.alloc(13, 1)
  return {
    decide: (id) => client.set(`bench-00/${id}`, value, 'PX', HOUR_MS),
    allowed: (done) => done === 'OK',
  }
}

/**
 * Spreads the requests of a subject evenly over the window, by a clock of this program. In real time a run would take
 * the whole window; without spreading, all requests would fall into a few slots of a log and take less memory.
 */
function spreadOut(client, limit, { requests }) {
  const began = Date.now()
  let nowMs = began
  const contender = tollgate(client, limit, { storeOptions: { now: () => nowMs } })
  const startRound = (round) => (nowMs = began + (round * MINUTE_MS) / (requests + 1))
  return { ...contender, startRound }
}

/** Sends one request of every subject a round, so that requests of many tenants alternate as in production. */
async function measureCase({ client, monitor }, filler, { requests, subjects }) {
  await client.flushdb('SYNC')
  for (let round = 0; round < requests; round += 1) {
    filler.startRound(round)
    await fillRound(filler, subjects)
  }
  const others = await monitor.keys('*/!*')
  const left = (await monitor.dbsize()) - others.length
  if (left !== subjects) throw new Error(`${left} keys for ${subjects} subjects: some expired while measured`)
  const full = await usedMemory(monitor)
  // The empty database is measured last: so scripts and client buffers take the same memory in both measurements.
  await client.flushdb('SYNC')
  return (full - (await usedMemory(monitor))) / subjects
}

async function fillRound({ decide, allowed }, subjects) {
  for (let first = 0; first < subjects; first += AT_ONCE) {
    const size = Math.min(AT_ONCE, subjects - first)
    const answers = await Promise.all(Array.from({ length: size }, (_, i) => decide(`user-${first + i}`)))
    if (!answers.every((answer) => allowed(answer, false))) throw new Error('A request was denied')
  }
}
