// A process whose requests begin and end: node in-flight-worker.mjs REDIS_URL. Answers each message with what it did.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { leasing } from '../../kit/contenders.mjs'
import { timed } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'
import { answerMessages } from '../../kit/children.mjs'

const RATE = { quota: 1_000_000_000, window: 'min', algorithm: 'token-bucket' }
const PLANS = {
  [names.RATED]: [RATE],
  [names.SLOTS]: [RATE, '1000000 concurrent'],
  [names.RATED_AGAIN]: [RATE],
}
/** Requests that one turn of the event loop brings. */
const A_TURN = 64

const client = new Redis(process.argv[2], { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const stores = { memory: () => memoryStore(), redis: (prefix) => redisStore(client, { prefix }) }
const made = new Map()

function contenderOf(name, store) {
  const key = `${store} ${name}`
  const prefix = `bench-${Object.keys(PLANS).indexOf(name)}`
  if (!made.has(key)) made.set(key, leasing(stores[store](prefix), PLANS[name], false))
  return made.get(key)
}

function take(contender, decision) {
  if (!contender.allowed(decision, false)) throw new Error('A request was denied')
  return decision
}

/** 64 requests at once, which end a turn after they began. */
async function fullSpeed(contender, ms) {
  const until = performance.now() + ms
  let requests = 0
  while (performance.now() < until) {
    const answers = Array.from({ length: A_TURN }, () => contender.decide('hot'))
    const decisions = []
    for (const answer of answers) decisions.push(take(contender, await answer))
    requests += A_TURN
    await nextTurn()
    for (const decision of decisions) decision.release()
  }
  return { requests }
}

/** `rate` requests a second, each of which runs for `runMs`. */
async function steady(contender, { rate, runMs, ms }) {
  const running = []
  const run = async () => {
    const decision = take(contender, await contender.decide('hot'))
    await sleep(runMs)
    decision.release()
  }
  const start = performance.now()
  for (let elapsed = 0; elapsed < ms; elapsed = performance.now() - start) {
    while (running.length < (elapsed * rate) / 1000) running.push(run())
    await sleep(1)
  }
  await Promise.all(running)
  return { requests: running.length }
}

async function load({ name, store, ms, rate, runMs }) {
  const contender = contenderOf(name, store)
  const { result, wallUs, nodeUs } = await timed(() =>
    rate === undefined ? fullSpeed(contender, ms) : steady(contender, { rate, runMs, ms }),
  )
  return { ...result, wallUs, nodeUs }
}

await client.ping()
answerMessages(load, {})
