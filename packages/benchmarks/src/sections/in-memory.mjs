// Decisions in the memory of one process: no Redis at all. The process is started with the collector exposed, for bytes.
import { memoryStore } from '@tollgate/core'
import { MemoryStore } from 'express-rate-limit'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { allowedByFlexible, tollgateOn } from '../kit/contenders.mjs'
import { LIMITS } from '../kit/field.mjs'
import { closedLoop, MODES, SUBJECTS, useUp } from '../kit/load.mjs'
import { takeTurns, timed } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

/** So large that all requests of a cell are allowed. */
const QUOTA = 1_000_000
const LARGE = { quota: QUOTA, window: 'min' }

const contenders = {
  [names.FLEXIBLE_MEMORY]: flexible,
  [names.BUCKET]: () => ours({ ...LARGE, algorithm: 'token-bucket' }),
  [names.FIXED]: () => ours({ ...LARGE, algorithm: 'fixed-window' }),
  [names.WINDOW]: () => ours({ ...LARGE, algorithm: 'sliding-window' }),
  [names.LOG]: () => ours(LARGE),
  [names.THREE]: () =>
    ours(['1000000/s burst 1000000', { ...LARGE, algorithm: 'sliding-window' }, '500000000/month']),
  [names.EXPRESS_MEMORY]: expressMemory,
  [names.FLEXIBLE_MEMORY_AGAIN]: flexible,
}

export async function measure({ cellMs, rounds, isQuick }) {
  const made = new Map(Object.entries(contenders).map(([name, make]) => [name, make(QUOTA)]))
  const cell = async (_name, contender) => {
    const run = (ms) => closedLoop(contender, MODES.allowed.idOf(), { inFlight: 1, ms })
    await run(cellMs / 2)
    const { result, wallUs } = await timed(() => run(cellMs))
    if (result.denied > 0) throw new Error('A request was denied')
    return { us: wallUs / result.decisions }
  }
  return {
    'in-memory': await takeTurns(made, isQuick ? 3 : rounds + 2, cell),
    denied: await takeTurns(deniers(), isQuick ? 3 : rounds + 2, deniedCell(cellMs)),
    heap: await heapOf(),
  }
}

function ours(limit) {
  return tollgateOn(memoryStore(), limit)
}

function flexible(points) {
  const limiter = new RateLimiterMemory({ points, duration: 60 })
  return { decide: (id) => limiter.consume(id), allowed: allowedByFlexible }
}

function expressMemory(quota) {
  const store = new MemoryStore()
  store.init({ windowMs: 60_000 })
  return { decide: (id) => store.increment(id), allowed: ({ totalHits }) => totalHits <= quota }
}

/** One tenant over its limit. */
function deniers() {
  return new Map([
    [names.FLEXIBLE_MEMORY, flexible(1000)],
    [names.BUCKET, ours(LIMITS[names.BUCKET])],
    [names.LOG, ours(LIMITS[names.LOG])],
    [names.FLEXIBLE_MEMORY_AGAIN, flexible(1000)],
  ])
}

function deniedCell(cellMs) {
  return async (_name, contender) => {
    await useUp(contender, 'hot', 2000)
    const run = (ms) => closedLoop(contender, () => 'hot', { inFlight: 1, ms })
    await run(cellMs / 2)
    const { result, wallUs } = await timed(() => run(cellMs))
    return { us: wallUs / result.decisions }
  }
}

/** Bytes of the heap a subject, with one request each. */
async function heapOf() {
  const rows = {}
  for (const [name, make] of Object.entries(contenders)) {
    if (name === names.FLEXIBLE_MEMORY_AGAIN) continue
    const contender = make(QUOTA)
    const used = () => {
      globalThis.gc()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    for (let i = 0; i < 100; i += 1) await contender.decide(`warm-${i}`)
    const before = used()
    for (let i = 0; i < SUBJECTS; i += 1) await contender.decide(`subject-${i}`)
    rows[name] = { bytes: [(used() - before) / SUBJECTS] }
    await contender.decide('kept alive until it was measured')
  }
  return rows
}
