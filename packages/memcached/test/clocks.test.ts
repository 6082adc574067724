// Law 6 on Memcached, which has no clock in ms: processes whose clocks are 2 s apart agree on one.
import { startMemcached, type MemcachedServer } from '@tollgate/testing'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { newPrefix } from './support.ts'

/** [began, ended] of a decision that let a request in, in ms of a clock that all processes share. */
type Interval = readonly [number, number]

const QUOTA = 200
const WINDOW_MS = 1000
const WINDOWS = 5
/** By how much processes may differ: docs/memcached.md states it. */
const APART_MS = 250

let server: MemcachedServer
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(() => server.kill())

test('four processes with clocks 2 s apart: never over the bound, and nearly all of the quota', async () => {
  const prefix = newPrefix()
  const children = [0, 2000, -2000, 4000].map((skew) => start(skew, prefix))
  await Promise.all(children.map((child) => once(child, 'message')))
  await sleep(WINDOWS * WINDOW_MS)
  const told = await Promise.all(
    children.map(async (child) => {
      const message = once(child, 'message')
      child.send('end')
      return ((await message) as [{ admitted: Interval[] }])[0].admitted
    }),
  )
  const admitted = told.flat().toSorted((a, b) => a[0] - b[0])
  expect(mostIn(admitted, WINDOW_MS - APART_MS)).toBeLessThan(2 * QUOTA)
  // All windows that began and ended meanwhile had their whole quota, or nearly.
  expect(admitted.length).toBeGreaterThan(0.9 * (WINDOWS - 1) * QUOTA)
  for (const own of told) expect(own.length).toBeGreaterThan(0)
}, 60_000)

function start(skewMs: number, prefix: string): ChildProcess {
  const env = {
    ...process.env,
    SKEW_MS: String(skewMs),
    ADDRESS: server.address,
    PREFIX: prefix,
    QUOTA: String(QUOTA),
    WINDOW_MS: String(WINDOW_MS),
    CALLERS: '20',
  }
  return fork(join(__dirname, 'clock-worker.mjs'), { env })
}

/** The most decisions that lie wholly in one window of this length. */
function mostIn(intervals: readonly Interval[], lengthMs: number): number {
  let most = 0
  for (const [begin] of intervals) {
    const inside = intervals.filter(([from, to]) => from >= begin && to <= begin + lengthMs)
    most = Math.max(most, inside.length)
  }
  return most
}
