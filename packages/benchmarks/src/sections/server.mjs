// Redis's own time for the commands of a decision, in batches of 64 over 10 000 keys, beside the least that a script
// which reads and writes each key can take.
import {
  bareScript,
  expressRateLimit,
  fastifyRateLimit,
  flexible,
  incr,
  koaRateLimit,
  tollgate,
} from '../kit/contenders.mjs'
import { LIMITS, QUOTA } from '../kit/field.mjs'
import { SUBJECTS } from '../kit/load.mjs'
import { commandUs } from '../kit/redis.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

const BATCH = 64

const FLOOR = `local call, unpackBytes, packBytes = redis.call, struct.unpack, struct.pack
local values = call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  local a, b, c = unpackBytes('>I1I7I3', values[i] or string.rep('x', 22))
  call('SETRANGE', KEYS[i], '0', packBytes('>I1I7I3', a, b, c))
end
return 1`

/** A contender decides batches here; one that has no batches is asked 64 times at once. */
const inBatches = ({ decide, allowed }, isHot = false) => ({
  isHot,
  run: async (ids) => {
    for (const answer of await Promise.all(ids.map((id) => decide(id)))) allowed(answer, false)
  },
})

export async function measure({ clients: { client }, monitor, isQuick }) {
  const batches = isQuick ? 60 : 200
  const keys = (first) => Array.from({ length: BATCH }, (_, i) => `k${(first * BATCH + i) % SUBJECTS}`)
  const hot = Array.from({ length: BATCH }, () => 'hot')
  const cell = async (_name, { run, isHot }) => {
    await client.flushdb()
    const idsOf = isHot ? () => hot : keys
    const warmUp = isHot ? 40 : Math.ceil(SUBJECTS / BATCH)
    for (let i = 0; i < warmUp; i += 1) await run(idsOf(i))
    const us = await commandUs(monitor, async () => {
      for (let i = 0; i < batches; i += 1) await run(idsOf(i))
    })
    return { us: us / (batches * BATCH) }
  }
  return { server: await takeTurns(await contendersOf(client), isQuick ? 3 : 7, cell) }
}

async function contendersOf(client) {
  const sha = await client.script('LOAD', FLOOR)
  const floor = { run: (ids) => client.evalsha(sha, ids.length, ...ids.map((id) => `floor:${id}`)) }
  const load = { quota: QUOTA, windowMs: 60_000 }
  // The script is measured, so denials must reach it.
  const ours = (limit, isHot) => inBatches(tollgate(client, limit, { denials: false }), isHot)
  const windowed = (algorithm) => ({ quota: QUOTA, window: 'min', algorithm })
  return new Map([
    [names.FLOOR, floor],
    [names.BUCKET, ours(LIMITS[names.BUCKET])],
    [names.FIXED, ours(windowed('fixed-window'))],
    [names.WINDOW, ours(windowed('sliding-window'))],
    [names.LOG_100, ours('100/min')],
    [names.LOG, ours(LIMITS[names.LOG])],
    [names.THREE, ours(LIMITS[names.THREE])],
    [names.MINUTE_AND_MONTH, ours(['100/min', '5000000/month'])],
    [names.BUCKET_DENIED, ours(LIMITS[names.BUCKET], true)],
    [names.LOG_DENIED, ours('100/min', true)],
    [names.FLOOR_AGAIN, floor],
    [names.INCR, inBatches(incr(client))],
    [names.SCRIPT, inBatches(await bareScript(client))],
    [names.EXPRESS, inBatches(expressRateLimit(client, load))],
    [names.FASTIFY, inBatches(fastifyRateLimit(client, load))],
    [names.KOA, inBatches(koaRateLimit(client, load))],
    [names.FLEXIBLE, inBatches(flexible(client, load))],
  ])
}
