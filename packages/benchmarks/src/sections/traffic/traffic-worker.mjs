// A process whose limiter counts its requests by subject, or does not: node traffic-worker.mjs NAME REDIS_URL.
// Answers `{ store, inFlight, ms }` with `{ us }`, the µs of Node for a decision.
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { closedLoop, SUBJECTS } from '../../kit/load.mjs'
import { timed } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'
import { answerMessages } from '../../kit/children.mjs'

const [name, url] = process.argv.slice(2)
/** So large that all requests are allowed. */
const PLAN = ['1000000/min', '1000000000/month']
const SETTLE_MS = 700
const WATCH_EVERY_MS = 1000

const client = new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const prefix = `traffic-${process.pid}`
const stores = { memory: () => memoryStore(), redis: () => redisStore(client, { prefix }) }
const made = new Map()

function limiterOn(store, traffic) {
  const options = {
    plans: { pro: PLAN },
    defaultPlan: 'pro',
    store: stores[store](),
    deadlineMs: 5000,
    traffic,
  }
  return createLimiter({ ...options, local: { instances: 1 }, onStoreFailure: 'closed' })
}

function contenderOf(store) {
  if (!made.has(store)) {
    const limiter = limiterOn(store, name === names.TRAFFIC || name === names.TRAFFIC_WATCHED)
    const decide = (i) => limiter.consume(`user-${(i * 7919) % SUBJECTS}`)
    made.set(store, { decide, allowed: isAllowed, at: 0, limiter })
  }
  return made.get(store)
}

function isAllowed(decision, isThrown) {
  if (isThrown || decision.source !== 'store') throw new Error(`Not a decision of the store: ${decision}`)
  return decision.allowed
}

async function perDecision({ store, inFlight, ms }) {
  const contender = contenderOf(store)
  const run = async (time) => {
    const { at } = contender
    const { decisions, denied } = await closedLoop(contender, (i) => at + i, { inFlight, ms: time })
    contender.at += decisions
    if (denied > 0) throw new Error('A request was denied')
    return decisions
  }
  // Whoever looks is another process most times, so its work is not measured.
  if (name === names.TRAFFIC_WATCHED && store === 'redis') await contender.limiter.traffic()
  // Until then, a process that had a pause counts more requests than it does under a steady load.
  await run(SETTLE_MS)
  const { result, nodeUs } = await timed(() => run(Math.max(ms, WATCH_EVERY_MS)))
  return { us: nodeUs / result }
}

await client.ping()
answerMessages(perDecision, {})
