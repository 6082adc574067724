// A process whose subjects are all billed on the same day, or each on its own: node billing-days-worker.mjs NAME REDIS_URL.
// Answers `{ store, ms }` with `{ decisions, us }`, the µs of Node for a decision.
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { closedLoop, SUBJECTS } from '../../kit/load.mjs'
import { timed } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'
import { answerMessages } from '../../kit/children.mjs'

const [name, url] = process.argv.slice(2)
const IN_FLIGHT = { memory: 1, redis: 64 }
/** Requests of each subject before any is measured. */
const WARM = 20
/** So large that all requests are allowed. */
const PLAN = ['1000000/min', '1000000000/month']
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata']
/** When its subjects signed up: on every day of two years. */
const signedUp = (i) => new Date(Date.UTC(2024, 0, 1 + (i % 730))).toISOString().slice(0, 10)

const client = new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const stores = {
  memory: () => memoryStore(),
  redis: () => redisStore(client, { prefix: `days-${process.pid}` }),
}
const subjects = Array.from({ length: SUBJECTS }, (_, i) => {
  const subject = { id: `user-${i}`, plan: 'pro' }
  // The object has as many properties in any case: to make a larger one takes the caller's time.
  if (name !== names.BILLING_DAYS) return { ...subject, anchor: null, timeZone: null }
  return { ...subject, anchor: signedUp(i), timeZone: ZONES[i % ZONES.length] }
})
const made = new Map()

function contenderOf(store) {
  if (!made.has(store)) {
    const options = { plans: { pro: PLAN }, defaultPlan: 'pro', store: stores[store](), deadlineMs: 5000 }
    const limiter = createLimiter({ ...options, local: { instances: 1 }, onStoreFailure: 'closed' })
    // Their object is made anew for each request, as from a session.
    const decide = (i) => limiter.consume({ ...subjects[i % SUBJECTS] })
    made.set(store, { decided: 0, decide, allowed: isAllowed })
  }
  return made.get(store)
}

function isAllowed(decision, isThrown) {
  if (isThrown || decision.source !== 'store') throw new Error(`Not a decision of the store: ${decision}`)
  return decision.allowed
}

async function perDecision({ store, ms }) {
  const contender = contenderOf(store)
  const run = async (time) => {
    // Where the cell before ended, so that every subject gets its turn.
    const from = contender.decided
    const done = await closedLoop(contender, (i) => from + i, { inFlight: IN_FLIGHT[store], ms: time })
    contender.decided += done.decisions
    if (done.denied > 0) throw new Error('A request was denied')
    return done.decisions
  }
  while (contender.decided < WARM * SUBJECTS) await run(50)
  const { result, nodeUs } = await timed(() => run(ms))
  return { decisions: result, us: nodeUs / result }
}

await client.ping()
answerMessages(perDecision, {})
