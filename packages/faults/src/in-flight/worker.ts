// A limiter in a process of its own, whose requests run for a while and then give their slots back. Every run is noted.
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, redisStore, type Decision } from '@tollgate/core'
import { eventually } from '@tollgate/testing/redis'
import { connect } from '../app/client.mjs'
import { Random } from '@tollgate/testing/random'
import { startMetered } from './metered-clients.ts'
import { METER_PLANS } from './metered.ts'
import { Notes } from './record.ts'
import { CLIENTS, PLACES, PLANS } from './subjects.ts'
import type { Told, WorkerOptions } from './worker-process.ts'

/** From 1 ms to some seconds, the short ones as often as the long ones; one of a hundred is among the longest. */
const SHORT_MS = 1
const SOME_SECONDS_MS = 3000
const LONGEST_SHARE = 0.01
/** After a denial. */
const PAUSE_MS = { least: 50, most: 150 }

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions
const client = await connect({ module: 'ioredis', ...options.target })
const limiter = createLimiter({
  plans: { ...PLANS, ...METER_PLANS },
  store: redisStore(client),
  onStoreFailure: options.policy,
  local: { instances: options.processes },
  deadlineMs: options.deadlineMs,
  warnings: false,
})
const notes = new Notes(options.notes)
const random = new Random(options.seed)
const zero = BigInt(options.zero)
const ending = new AbortController()
setMaxListeners(0, ending.signal)
const told = { decisions: 0, admitted: 0, byPolicy: 0, longestMs: 0, declaredAgain: 0 }
const thrown: string[] = []
let underWay = 0

/** In µs, by a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint() - zero) / 1000

limiter.on('inFlight', ({ slots }) => (told.declaredAgain += slots))
process.on('disconnect', () => process.exit(1))
await eventually(async () => (await client.ping()) === 'PONG')
const all = CLIENTS.flatMap(({ places, count }) => Array.from({ length: count }, () => clientOf(places)))
// What processes let in by themselves is the matter of other parts.
if (options.policy === 'closed') {
  const note = notes.use.bind(notes)
  all.push(...startMetered({ limiter, random, ending: ending.signal, now, pause, note, ask }))
}
process.on('message', () => void end(Promise.all(all)))
process.send?.('ready')

/** Asks for one request after another, until the end. */
async function clientOf(places: readonly number[]): Promise<void> {
  const subjects = places.flatMap((place) => PLACES[place] ?? []).map(({ id, plan }) => ({ id, plan }))
  while (!ending.signal.aborted) {
    const decision = await ask(() => limiter.consume(subjects))
    if (decision?.allowed) await runOf(decision, places)
    else await pause(random.between(PAUSE_MS.least, PAUSE_MS.most))
  }
}

async function ask<T>(work: () => PromiseLike<T> | T): Promise<T | undefined> {
  const from = now()
  underWay += 1
  try {
    return await work()
  } catch (error) {
    if (thrown.length < 10) thrown.push(String(error))
    return undefined
  } finally {
    underWay -= 1
    told.decisions += 1
    told.longestMs = Math.max(told.longestMs, (now() - from) / 1000)
  }
}

async function runOf(decision: Decision, places: readonly number[]): Promise<void> {
  const isOfStore = decision.source === 'store'
  told.admitted += 1
  if (!isOfStore) told.byPolicy += 1
  const runs = places.map((place) => [notes.begin(place, isOfStore, now()), place] as const)
  await pause(lengthOf())
  for (const [run, place] of runs) notes.end(run, place, now())
  if (!decision.release()) thrown.push('a decision gave no slot back')
}

function lengthOf(): number {
  if (random.next() < LONGEST_SHARE) return options.longestMs * random.between(0.8, 1)
  const most = Math.min(SOME_SECONDS_MS, options.longestMs)
  return SHORT_MS * (most / SHORT_MS) ** random.next()
}

/** Ends at once when the process is to end. */
async function pause(ms: number): Promise<void> {
  await sleep(ms, undefined, { signal: ending.signal }).catch(() => {})
}

async function end(clients: Promise<unknown>): Promise<void> {
  ending.abort()
  await Promise.race([clients, sleep(10 * options.deadlineMs, undefined, { ref: false })])
  notes.close()
  process.removeAllListeners('disconnect')
  process.send?.({ ...told, unanswered: underWay, thrown } satisfies Told)
  await limiter.close()
  client.disconnect()
  process.disconnect()
}
