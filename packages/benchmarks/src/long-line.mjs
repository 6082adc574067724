// What a long line costs: Redis's time for a request of a subject that many others wait for, and how much of its limit a line
// uses where every second request gives up.
//
//   node packages/benchmarks/src/long-line.mjs [FOLDER ...]
//
// Each folder is another clone of the repository, with a build: it is measured in turn with this one.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { randomOf } from './kit/random.mjs'
import { commandUs, exitOnSignals, startRedis } from './kit/redis.mjs'
import { median } from './kit/statistics.mjs'

const ROUNDS = 7
const REQUESTS = 20
const START_MS = 1_770_000_000_000
const MINUTE_US = 60_000_000

const BUCKET = ['20/s burst 1']
const BUCKETS = ['20/s burst 1', '1400/min burst 2', '100000/h burst 3']
const LOG = [{ algorithm: 'sliding-log', quota: 600, window: 'min' }]
const WINDOW = [{ algorithm: 'sliding-window', quota: 600, window: 'min' }]

/** What is measured: the limits, how many got a place, and of how many of them one has not left. */
const LINES = {
  'bucket, nobody waits': [BUCKET, 0, 1],
  'bucket, 465 wait': [BUCKET, 465, 1],
  'bucket, 465 wait of 930': [BUCKET, 930, 2],
  'three buckets, 530 wait': [BUCKETS, 530, 1],
  'three buckets, 490 wait of 980': [BUCKETS, 980, 2],
  'sliding-log, 500 wait': [LOG, 500, 1],
  'sliding-log, 250 wait of 500': [LOG, 500, 2],
  'sliding-window, 500 wait': [WINDOW, 500, 1],
  'sliding-window, 250 wait of 500': [WINDOW, 500, 2],
}

let ids = 0
const newId = () => `hold-${String((ids += 1)).padStart(7, '0')}`

/** One subject of a store whose clock is ours. */
class Subject {
  nowMs = START_MS
  #store
  #set
  #key

  constructor({ redisStore, createLimitSet }, client, limits, key) {
    const wait = { delayUs: MINUTE_US, slackUs: 50_000, most: 1000 }
    this.#set = { ...createLimitSet(...limits), wait }
    this.#store = redisStore(client, { prefix: 'long-line', now: () => this.nowMs })
    this.#key = key
  }

  /** @returns when its place comes in ms, 0 if it has its units at once, undefined if it is denied */
  async book(id) {
    const { slackUs, most, delayUs } = this.#set.wait
    const hold = { kind: 'place', id, lengthUs: delayUs, slackUs, most }
    const { hold: held, limits } = await this.#ask({ grant: 'all', hold })
    if (held) return held.delayUs / 1000
    return limits.every(({ wait }) => wait === 0) ? 0 : undefined
  }

  async leave(id) {
    await this.#ask({ grant: 'lease', order: { reports: [{ id, used: 0, left: 0 }] } })
  }

  async consume() {
    await this.#ask({ grant: 'all' })
  }

  async #ask(what) {
    const parts = [{ key: this.#key, set: this.#set, cost: 1 }]
    const [answer] = await this.#store.consume([{ shard: 0, parts, ...what }])
    if (answer instanceof Error) throw answer
    return answer
  }
}

/** Uses a limit up, so that all others wait. */
async function fill(subject, [limit]) {
  const { quota = 1 } = limit
  for (let i = 0; i < quota; i += 1) {
    await subject.consume()
    if (quota > 1) subject.nowMs += 60_000 / quota
  }
}

/** Redis's µs for a request that gets a place, for one that leaves, and for one that does not wait. */
async function costOf(core, { client, monitor }, [limits, places, leftOf]) {
  await client.flushdb()
  const subject = new Subject(core, client, limits, 'tenant')
  if (places > 0) await fill(subject, limits)
  const booked = []
  while (booked.length < places) {
    const id = newId()
    const delayMs = await subject.book(id)
    if (delayMs === undefined) throw new Error(`The line is full with ${booked.length}, not ${places}`)
    if (delayMs > 0) booked.push(id)
  }
  for (const [i, id] of booked.entries()) if (i % leftOf > 0) await subject.leave(id)
  const newcomers = Array.from({ length: REQUESTS }, newId)
  const each = async (work) => {
    const us = await commandUs(monitor, async () => {
      for (const id of newcomers) await work(id)
    })
    return us / REQUESTS
  }
  return {
    book: await each((id) => subject.book(id)),
    leave: await each((id) => subject.leave(id)),
    consume: await each(() => subject.consume()),
  }
}

const PER_S = 20
const SECONDS = 60
const IN_LINE = 80

/** When the next of a line goes, or somebody else can come. */
const nextMs = (line, ms) =>
  Math.min(...line.map(({ goesMs }) => goesMs), line.length < IN_LINE ? ms + 1 : Infinity)

/** The share of a limit that a line uses which is never empty, and half of which gives up before its time comes. */
async function used(core, { client }, limits) {
  await client.flushdb()
  const [subject, random] = [new Subject(core, client, limits, 'tenant'), randomOf(1)]
  let line = []
  let admitted = 0
  for (let ms = 0; ms < SECONDS * 1000; ms = nextMs(line, ms)) {
    subject.nowMs = START_MS + ms
    for (const { id, goesMs, leaves } of line) {
      if (goesMs > ms) continue
      if (leaves) await subject.leave(id)
      else admitted += 1
    }
    line = line.filter(({ goesMs }) => goesMs > ms)
    while (line.length < IN_LINE) {
      const id = newId()
      const delayMs = await subject.book(id)
      if (delayMs === undefined) break
      const leaves = random() < 0.5
      // To whole ms, as clients leave.
      const goesMs = ms + (leaves ? Math.floor(random() * delayMs) : delayMs)
      if (delayMs === 0) admitted += 1
      else line.push({ id, goesMs, leaves })
    }
  }
  return admitted / (SECONDS * PER_S)
}

async function coreOf(folder) {
  const from = (face) => import(pathToFileURL(resolve(folder, 'packages/core/dist/esm', face)).href)
  const [{ redisStore }, { createLimitSet }] = await Promise.all([from('index.js'), from('store.js')])
  return { redisStore, createLimitSet }
}

exitOnSignals()
const redis = await startRedis()
const [client, monitor] = [redis.url, redis.url].map(
  (url) => new Redis(url, { autoResendUnfulfilledCommands: false }),
)
const folders = [...process.argv.slice(2), resolve(import.meta.dirname, '../../..')]
const cores = await Promise.all(folders.map(coreOf))
console.log(`Redis's µs a request, medians of ${ROUNDS} rounds: ${folders.join(' | ')}`)
for (const [name, line] of Object.entries(LINES)) {
  const figures = cores.map(() => [])
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [i, core] of cores.entries()) figures[i].push(await costOf(core, { client, monitor }, line))
  }
  const told = ['book', 'leave', 'consume'].map((what) => {
    const each = figures.map((rounds) =>
      median(rounds.map((one) => one[what]))
        .toFixed(0)
        .padStart(6),
    )
    return `${what} ${each.join(' |')}`
  })
  console.log(`${name.padEnd(42)} ${told.join('   ')}`)
}
console.log(`The share of a limit of ${PER_S}/s that a line uses of which half gives up`)
for (const limits of [
  ['20/s burst 1'],
  ['20/s burst 1', '1300/min burst 2'],
  [{ algorithm: 'sliding-log', quota: 40, window: '2s' }],
]) {
  const shares = []
  for (const core of cores) shares.push((await used(core, { client }, limits)).toFixed(3))
  console.log(`${JSON.stringify(limits).padEnd(60)} ${shares.join(' | ')}`)
}
client.disconnect()
monitor.disconnect()
redis.stop()
