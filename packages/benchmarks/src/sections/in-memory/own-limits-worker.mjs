// A process that decides by named plans, or by limits that each subject brings: node own-limits-worker.mjs NAME REDIS_URL,
// with the collector exposed. Answers `{ store, contracts, ms }` with the µs of a decision, and `{ grid: 'heap' }` with MB.
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { closedLoop, SUBJECTS } from '../../kit/load.mjs'
import { timed } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'
import { answerMessages } from '../../kit/children.mjs'

const [name, url] = process.argv.slice(2)
const isOwn = name === names.OWN_LIMITS
const IN_FLIGHT = { memory: 1, redis: 64 }
/** Requests of each subject before any is measured. */
const WARM = 5
/** So large that all requests are allowed. */
const limitsOf = (i) => [`${1_000_000 + i}/min`, `${1_000_000_000 + i}/day`]

const client = new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const made = new Map()

/** @param {number} contracts how many different limits the subjects bring */
function contenderOf(store, contracts) {
  const key = `${store} ${contracts}`
  if (!made.has(key)) made.set(key, make(store, contracts))
  return made.get(key)
}

function make(store, contracts) {
  const of = {
    memory: () => memoryStore(),
    redis: () => redisStore(client, { prefix: `own-${process.pid}-${contracts}` }),
  }
  const texts = Array.from({ length: contracts }, (_, i) => limitsOf(i))
  const planNames = texts.map((_, i) => `plan-${i}`)
  // The same limits, one plan for each; those who bring them need one plan at least.
  const plans = Object.fromEntries(
    planNames.slice(0, isOwn ? 1 : contracts).map((plan, i) => [plan, texts[i]]),
  )
  const options = { plans, store: of[store](), deadlineMs: 5000, local: { instances: 1 } }
  const limiter = createLimiter({ ...options, defaultPlan: 'plan-0', onStoreFailure: 'closed' })
  const ids = Array.from({ length: SUBJECTS }, (_, i) => `user-${i}`)
  const byPlan = (i) => ({ id: ids[i % SUBJECTS], plan: planNames[i % contracts] })
  // A list of its own at each request, as it comes from a database or a session.
  const byLimits = (i) => {
    const [minute, day] = texts[i % contracts]
    return { id: ids[i % SUBJECTS], limits: [minute, day] }
  }
  const subjectOf = isOwn ? byLimits : byPlan
  return { decided: 0, limiter, decide: (i) => limiter.consume(subjectOf(i)), allowed: isAllowed }
}

function isAllowed(decision, isThrown) {
  if (isThrown || decision.source !== 'store') throw new Error(`Not a decision of the store: ${decision}`)
  return decision.allowed
}

async function perDecision({ store, contracts, ms }) {
  const contender = contenderOf(store, contracts)
  let from = contender.decided
  const run = (time) => closedLoop(contender, (i) => from + i, { inFlight: IN_FLIGHT[store], ms: time })
  // Where the cell before ended, so that every subject gets its turn. The first requests of each say little.
  while (contender.decided < WARM * SUBJECTS) {
    const { decisions } = await run(50)
    contender.decided += decisions
    from = contender.decided
  }
  const { result, nodeUs } = await timed(() => run(ms))
  if (result.denied > 0) throw new Error('A request was denied')
  contender.decided += result.decisions
  return { us: nodeUs / result.decisions }
}

/** MB of the heap after one request of each subject, and after each has brought other limits 20 times. */
async function heap() {
  const used = () => {
    globalThis.gc()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return (heapUsed + arrayBuffers) / 1e6
  }
  const before = used()
  const { limiter, decide } = make('memory', SUBJECTS)
  for (let i = 0; i < SUBJECTS; i += 1) await decide(i)
  const once = used() - before
  const changes = isOwn ? 20 * SUBJECTS : 0
  for (let i = 0; i < changes; i += 1)
    await limiter.consume({ id: `user-${i % SUBJECTS}`, limits: limitsOf(i) })
  return { once, often: used() - before }
}

await client.ping()
answerMessages((message) => (message.grid === 'heap' ? heap() : perDecision(message)), {})
