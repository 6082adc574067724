// Requests in flight: what a limit of them costs beside a rate limit, in Redis's time, bytes, commands and throughput.
import { redisStore } from '@tollgate/core'
import { startChild } from '../../kit/children.mjs'
import { commandsOf } from '../../kit/redis.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import { bytes, commandCost } from './in-flight-store.mjs'
import { waiting } from './in-flight-waiting.mjs'
import * as names from '../../names.mjs'

const CONTENDERS = [names.RATED, names.SLOTS, names.RATED_AGAIN]
const PROCESSES = 4
const STEADY = { rate: 2000, runMs: 20 }

export async function measure({ url, clients: { client }, monitor, cellMs, rounds, isQuick }) {
  const turns = isQuick ? 3 : rounds + 2
  const store = redisStore(client, { prefix: 'bench-00' })
  const cost = (size) => commandCost(store, monitor, { size, turns, batches: isQuick ? 40 : 100 })
  return {
    batches: await cost(64),
    lone: await cost(1),
    bytes: await bytes(store, client),
    memory: await throughput(url, 'memory', { cellMs, turns }),
    redis: await throughput(url, 'redis', { cellMs, turns }),
    waiting: await waiting(client, monitor, isQuick ? 3 : rounds + 2),
    ...(await together(url, monitor, { cellMs, turns: 3 })),
  }
}

/** A process for each contender: what the engine learns of one limiter's code would slow the others. */
async function throughput(url, store, { cellMs, turns }) {
  const own = new Map(
    CONTENDERS.map((name) => [name, startChild('sections/in-flight/in-flight-worker.mjs', [url])]),
  )
  for (const child of own.values()) await child.ask()
  const result = await takeTurns(own, turns, async (name, child) => {
    await child.ask({ name, store, ms: cellMs })
    const { requests, wallUs, nodeUs } = await child.ask({ name, store, ms: 2 * cellMs })
    return { perSecond: (requests * 1e6) / wallUs, nodeUs: nodeUs / requests }
  })
  for (const child of own.values()) child.stop()
  return result
}

async function together(url, monitor, { cellMs, turns }) {
  const crew = Array.from({ length: PROCESSES }, () =>
    startChild('sections/in-flight/in-flight-worker.mjs', [url]),
  )
  for (const child of crew) await child.ask()
  const ask = (load) => Promise.all(crew.map((child) => child.ask({ store: 'redis', ...load })))
  const cell = (load) => async (name) => {
    await ask({ name, ...load, ms: cellMs })
    let all
    const { calls } = await commandsOf(
      monitor,
      async () => (all = await ask({ name, ...load, ms: 4 * cellMs })),
    )
    const requests = all.reduce((sum, one) => sum + one.requests, 0)
    const seconds = Math.max(...all.map(({ wallUs }) => wallUs)) / 1e6
    return { perSecond: requests / seconds, per1000: (1000 * calls) / requests }
  }
  const contenders = new Map([names.RATED, names.SLOTS].map((name) => [name, name]))
  const steady = { rate: STEADY.rate / PROCESSES, runMs: STEADY.runMs }
  const grids = {
    four: await takeTurns(contenders, turns, cell({})),
    'four steady': await takeTurns(contenders, turns, cell(steady)),
  }
  for (const child of crew) child.stop()
  return grids
}
