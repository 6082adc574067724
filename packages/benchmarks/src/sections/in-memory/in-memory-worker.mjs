// A process that decides in its memory: node in-memory-worker.mjs NAME, with the collector exposed. Answers
// `{ grid: 'in-memory' | 'denied', ms }` with the µs of a decision, and `{ grid: 'heap' }` with the bytes of a subject.
import { closedLoop, MODES, SUBJECTS, useUp } from '../../kit/load.mjs'
import { MEMORY_CONTENDERS } from '../../kit/memory-field.mjs'
import { timed } from '../../kit/rounds.mjs'
import { answerMessages } from '../../kit/children.mjs'

/** So large that all requests of a cell are allowed. */
const LARGE = 1_000_000
const SMALL = 1000

const make = MEMORY_CONTENDERS[process.argv[2]]
const measure = { 'in-memory': allowed, denied, heap }
let large
let small

answerMessages(({ grid, ms }) => measure[grid](ms), {})

async function allowed(ms) {
  large ??= await warm(make(LARGE))
  const { us, result } = await perDecision(large, MODES.allowed.idOf(), ms)
  if (result.denied > 0) throw new Error('A request was denied')
  return { us }
}

/** Gives the engine time to compile it: a short cell would measure little else. */
async function warm(contender) {
  await closedLoop(contender, MODES.allowed.idOf(), { inFlight: 1, ms: 400 })
  return contender
}

/** One tenant over its limit. */
async function denied(ms) {
  small ??= await warm(make(SMALL))
  await useUp(small, 'hot', 2 * SMALL)
  const { us } = await perDecision(small, () => 'hot', ms)
  return { us }
}

async function perDecision(contender, idOf, ms) {
  const run = (time) => closedLoop(contender, idOf, { inFlight: 1, ms: time })
  await run(ms / 2)
  const { result, wallUs } = await timed(() => run(ms))
  return { us: wallUs / result.decisions, result }
}

/** Bytes of the heap a subject, with one request each. */
async function heap() {
  const contender = make(LARGE)
  const used = () => {
    globalThis.gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  for (let i = 0; i < 100; i += 1) await contender.decide(`warm-${i}`)
  const before = used()
  for (let i = 0; i < SUBJECTS; i += 1) await contender.decide(`subject-${i}`)
  const bytes = (used() - before) / SUBJECTS
  await contender.decide('kept alive until it was measured')
  return { bytes }
}
