// How many requests a limit of 100 lets through: over the seam of two windows, from 4 processes at once, and from two
// processes whose clocks are 30 s apart. All contenders are asked at the same time, each under its own keys.
import { startChild } from '../../kit/children.mjs'

const QUOTA = 100
const SEAM_WINDOW_MS = 2000
/** The two bursts of the seam are this share of a window before and after its end: second 58 and 02 of a minute. */
const BESIDE = 0.04
const BURST = 150

export async function measure({ url, isQuick }) {
  const repeats = isQuick ? 1 : 4
  const start = async (clockMs) => {
    const child = startChild('sections/accuracy/accuracy-worker.mjs', [url, String(clockMs)])
    await child.ask()
    return child
  }
  const workers = await Promise.all([0, 0, 0, 0].map(start))
  const ahead = await start(30_000)
  const rows = {}
  const note = (figure, counts) => {
    for (const [name, count] of Object.entries(counts)) ((rows[name] ??= {})[figure] ??= []).push(count)
  }
  for (let i = 0; i < repeats; i += 1) note('seam', await seam(workers[0], i))
  for (let i = 0; i < 5 * repeats; i += 1) note('atOnce', await atOnce(workers, i))
  for (let i = 0; i < repeats; i += 1) {
    note('ahead', await clocks(workers[0], ahead, `ahead-${i}`))
    note('behind', await clocks(ahead, workers[0], `behind-${i}`))
  }
  for (const child of [...workers, ahead]) child.stop()
  return { accuracy: rows }
}

const sum = (all) => {
  const total = {}
  for (const counts of all) {
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count
  }
  return total
}

/**
 * One request when a window begins, by the clock and by the first request alike; then a burst shortly before its end,
 * and one shortly after. Told is what both bursts get, which lie within a small part of a window.
 */
async function seam(worker, i) {
  const load = { quota: QUOTA, windowMs: SEAM_WINDOW_MS }
  await worker.ask({ load })
  const id = `seam-${i}`
  const begin = (Math.floor(Date.now() / SEAM_WINDOW_MS) + 1) * SEAM_WINDOW_MS
  await worker.ask({ load, id, count: 1, at: begin + 5 })
  const end = begin + SEAM_WINDOW_MS
  const beside = BESIDE * SEAM_WINDOW_MS
  const first = await worker.ask({ load, id, count: BURST, at: end - beside })
  const second = await worker.ask({ load, id, count: BURST, at: end + beside })
  return sum([first.counts, second.counts])
}

/** 4 processes send 200 requests each for one subject at the same time. */
async function atOnce(workers, i) {
  const load = { quota: QUOTA, windowMs: 60_000 }
  await Promise.all(workers.map((worker) => worker.ask({ load })))
  const at = Date.now() + 30
  const all = await Promise.all(
    workers.map((worker) => worker.ask({ load, id: `once-${i}`, count: 200, at })),
  )
  return sum(all.map(({ counts }) => counts))
}

/** One process uses the quota of a window of 10 s up, then one with another clock asks. */
async function clocks(first, second, id) {
  const load = { quota: QUOTA, windowMs: 10_000 }
  const used = await first.ask({ load, id, count: BURST })
  const more = await second.ask({ load, id, count: BURST })
  return sum([used.counts, more.counts])
}
