// How the cost of a decision grows: with the number of subjects, the quota of an exact log, and the limits of a plan.
import { tollgate } from '../kit/contenders.mjs'
import { commandUs, usedMemory } from '../kit/redis.mjs'

const BATCH = 64
const MINUTE_MS = 60_000
const MOST_ENTRIES = 256

export async function measure(context) {
  return {
    subjects: await bySubjects(context),
    quota: await byQuota(context),
    limits: await byLimits(context),
  }
}

async function decideAll({ decide, allowed }, ids) {
  const answers = await Promise.all(ids.map((id) => decide(id)))
  if (!answers.every((answer) => allowed(answer, false))) throw new Error('A request was denied')
}

/** Redis's µs a decision: batches of 64 of random subjects. */
async function costOf(monitor, contender, { subjects, batches, before = () => {} }) {
  const random = () => `s${Math.floor(Math.random() * subjects)}`
  const us = await commandUs(monitor, async () => {
    for (let i = 0; i < batches; i += 1) {
      before()
      await decideAll(contender, Array.from({ length: BATCH }, random))
    }
  })
  return us / (batches * BATCH)
}

async function bySubjects({ clients: { client }, monitor, isQuick, rounds }) {
  const sizes = isQuick ? [1, 100, 10_000, 100_000] : [1, 100, 10_000, 1_000_000]
  const rows = {}
  for (const subjects of sizes) {
    await client.flushdb()
    const empty = await usedMemory(monitor)
    const limit = { quota: 1_000_000_000, window: 'min', algorithm: 'token-bucket' }
    const contender = tollgate(client, limit)
    for (let first = 0; first < subjects; first += 512) {
      const size = Math.min(512, subjects - first)
      await decideAll(
        contender,
        Array.from({ length: size }, (_, i) => `s${first + i}`),
      )
    }
    const bytes = ((await usedMemory(monitor)) - empty) / subjects
    const row = (rows[String(subjects)] = { us: [], bytes: [bytes] })
    for (let round = 0; round < rounds; round += 1) {
      row.us.push(await costOf(monitor, contender, { subjects, batches: isQuick ? 60 : 200 }))
    }
  }
  return rows
}

/**
 * A log in its steady state: every subject has as many entries as it can have, and for each new one an old one leaves.
 * A clock of this program moves on between rounds, so that it takes no minute.
 */
async function byQuota({ clients: { client }, monitor, isQuick, rounds }) {
  const rows = {}
  for (const quota of [1, 10, 100, 1000, 10_000, 100_000]) {
    await client.flushdb()
    const entries = Math.min(quota, MOST_ENTRIES)
    let nowMs = Date.now()
    const contender = tollgate(client, { quota, window: 'min' }, { storeOptions: { now: () => nowMs } })
    const subjects = Array.from({ length: BATCH }, (_, i) => `s${i}`)
    // A little more than the share of an entry, and of a slot of the log, in which requests may be kept together.
    const step = MINUTE_MS / entries + MINUTE_MS / 128 + 1
    const round = () => ((nowMs += step), decideAll(contender, subjects))
    for (let i = 0; i < entries; i += 1) await round()
    const row = (rows[String(quota)] = { us: [] })
    const batches = isQuick ? 60 : 200
    for (let i = 0; i < rounds; i += 1) {
      const us = await commandUs(monitor, async () => {
        for (let batch = 0; batch < batches; batch += 1) await round()
      })
      row.us.push(us / (batches * BATCH))
    }
  }
  return rows
}

/** Token buckets with windows of their own: 1 to 8 of them hold at once. */
async function byLimits({ clients: { client }, monitor, isQuick, rounds }) {
  const windows = ['s', 'min', '5 min', '15 min', 'h', '6 h', 'd', '7 d']
  const rows = {}
  for (const count of [1, 2, 4, 8]) {
    await client.flushdb()
    const limit = windows.slice(0, count).map((window, i) => ({
      ...{ name: `limit${i}`, quota: 1_000_000, window, algorithm: 'token-bucket' },
    }))
    const contender = tollgate(client, limit)
    const row = (rows[String(count)] = { us: [] })
    await costOf(monitor, contender, { subjects: 1000, batches: 50 })
    for (let round = 0; round < rounds; round += 1) {
      row.us.push(await costOf(monitor, contender, { subjects: 1000, batches: isQuick ? 60 : 200 }))
    }
  }
  return rows
}
