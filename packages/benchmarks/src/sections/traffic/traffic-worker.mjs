// A process whose limiter counts its requests by subject: node traffic-worker.mjs NAME REDIS_URL.
// Answers `{ store, inFlight, ms }` with `{ percent }`, the share of Node's CPU time that the counting takes.
import { Session } from 'node:inspector/promises'
import { createLimiter, memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { closedLoop, SUBJECTS } from '../../kit/load.mjs'
import * as names from '../../names.mjs'
import { answerMessages } from '../../kit/children.mjs'

const [name, url] = process.argv.slice(2)
/** So large that all requests are allowed. */
const PLAN = ['1000000/min', '1000000000/month']
/** Until then, a process that had a pause counts more requests than it does under a steady load. */
const SETTLE_MS = 1000
const SAMPLE_EVERY_US = 200
/** The modules that count, merge and write figures. */
const COUNTING = /\/limiter\/traffic\//

const client = new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const prefix = `traffic-${process.pid}`
const stores = { memory: () => memoryStore(), redis: () => redisStore(client, { prefix }) }
const made = new Map()

function contenderOf(store) {
  if (!made.has(store)) {
    const options = { plans: { pro: PLAN }, defaultPlan: 'pro', store: stores[store](), deadlineMs: 5000 }
    const limiter = createLimiter({ ...options, local: { instances: 1 }, onStoreFailure: 'closed' })
    const decide = (i) => limiter.consume(`user-${(i * 7919) % SUBJECTS}`)
    made.set(store, { decide, allowed: isAllowed, at: 0, limiter })
  }
  return made.get(store)
}

function isAllowed(decision, isThrown) {
  if (isThrown || decision.source !== 'store') throw new Error(`Not a decision of the store: ${decision}`)
  return decision.allowed
}

async function percentOf({ store, inFlight, ms }) {
  const contender = contenderOf(store)
  const run = async (time) => {
    const { at } = contender
    const { decisions, denied } = await closedLoop(contender, (i) => at + i, { inFlight, ms: time })
    contender.at += decisions
    if (denied > 0) throw new Error('A request was denied')
  }
  await run(SETTLE_MS)
  if (name === names.TRAFFIC_WATCHED) await contender.limiter.traffic()
  return { percent: 100 * countingIn(await profileOf(() => run(ms))) }
}

async function profileOf(work) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_US })
  await session.post('Profiler.start')
  await work()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  return profile
}

/** The share of the time in which Node was busy, garbage collection included, that was spent in calls of what counts. */
function countingIn({ nodes, samples, timeDeltas }) {
  const callers = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])))
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const isCounting = (id) =>
    id !== undefined && (COUNTING.test(frames.get(id).url) || isCounting(callers.get(id)))
  let [busy, counting] = [0, 0]
  samples.forEach((id, i) => {
    if (frames.get(id).functionName === '(idle)') return
    busy += timeDeltas[i]
    if (isCounting(id)) counting += timeDeltas[i]
  })
  if (counting === 0) throw new Error('The profile has nothing that counts')
  return counting / busy
}

await client.ping()
answerMessages(percentOf, {})
