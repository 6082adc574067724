// Law 6 on Memcached, which has no clock in ms: processes whose clocks are 2 s apart agree on one.
import { startMemcached, type MemcachedServer } from '@tollgate/testing'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { newPrefix } from './support.ts'

/** [began, ended] of a decision that let a request in, in ms of a clock that all processes share. */
type Interval = readonly [number, number]

interface Told {
  readonly admitted: readonly Interval[]
  readonly longestMs: number
}

const QUOTA = 200
const WINDOW_MS = 1000
const WINDOWS = 5
/** How often processes compare their clocks, and by how much these may differ then: docs/operations/memcached.md states it. */
const COMPARED_EVERY_MS = 100
const APART_MS = 250

let server: MemcachedServer
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(() => server.kill())

test('four processes with clocks 2 s apart: never over the bound, and all of the quota', async () => {
  const prefix = newPrefix()
  const children = [0, 2000, -2000, 4000].map((skew) => start(skew, prefix))
  await Promise.all(children.map((child) => once(child, 'message')))
  // Each has met the end of the quota that often, and its return.
  await Promise.all(children.map((child) => untilDenied(child, WINDOWS)))
  const told = await Promise.all(
    children.map(async (child) => {
      child.send('end')
      return messageOf<Told>(child, (message) => message.admitted !== undefined)
    }),
  )
  const admitted = told.flatMap((one) => one.admitted).toSorted((a, b) => a[0] - b[0])
  // A trip to the server that takes longer sets clocks further apart: on a busy machine the bound is that much wider.
  const longestMs = Math.max(...told.map((one) => one.longestMs))
  const apartMs = Math.max(APART_MS, COMPARED_EVERY_MS + 2 * longestMs)
  expect(mostIn(admitted, WINDOW_MS - apartMs)).toBeLessThan(2 * QUOTA)
  // Nobody is denied before all of it is used.
  expect(mostIn(admitted, WINDOW_MS + apartMs)).toBeGreaterThanOrEqual(QUOTA)
  for (const own of told) expect(own.admitted.length).toBeGreaterThan(0)
})

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

const untilDenied = (child: ChildProcess, times: number): Promise<unknown> =>
  messageOf<{ denials: number }>(child, ({ denials }) => denials >= times)

/** The first message of a child that is as wanted. */
function messageOf<T>(child: ChildProcess, isWanted: (message: T) => boolean): Promise<T> {
  return new Promise((resolve) => {
    const read = (message: T): void => {
      if (!isWanted(message)) return
      child.off('message', read)
      resolve(message)
    }
    child.on('message', read)
  })
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
