// Four processes whose clocks are 2 s apart ask for one tenant without a pause: what is let in, in any true window and in all.
import { startMemcached } from '@tollgate/testing/memcached'
import { startChild } from '../../kit/children.mjs'
import { mostInWindow } from '../../kit/windows.mjs'
import * as names from '../../names.mjs'

const SKEWS_MS = [0, 2000, -2000, 4000]
const QUOTA = 200
const WINDOW_MS = 1000
/** By how much processes may differ in their time. */
const APART_MS = 250

export async function measure({ placement, isQuick }) {
  const server = await startMemcached()
  try {
    const figures = await ask(server.address, { placement, windows: isQuick ? 10 : 60 })
    const row = Object.fromEntries(Object.entries(figures).map(([figure, value]) => [figure, [value]]))
    return { accuracy: { [names.MEMCACHED_ADDRESS]: row } }
  } finally {
    await server.kill()
  }
}

async function ask(address, { placement, windows }) {
  const load = { address, quota: QUOTA, windowMs: WINDOW_MS }
  const processes = SKEWS_MS.map((skewMs, i) =>
    startChild('sections/memcached/memcached-worker.mjs', [JSON.stringify({ ...load, skewMs })], {
      // Or they would all share the core of this process.
      core: placement === 'free' ? undefined : i % 2,
    }),
  )
  await Promise.all(processes.map((child) => child.ask()))
  // Longer than the windows that are judged, so that those are whole.
  const ms = (windows + 2) * WINDOW_MS
  const told = await Promise.all(processes.map((child) => child.ask({ ms })))
  for (const child of processes) child.stop()
  const all = told.flatMap(({ admitted }) => admitted).toSorted((a, b) => a[0] - b[0])
  const begin = all[0][0]
  const inTime = all.filter(([, to]) => to < begin + windows * WINDOW_MS)
  const exact = windows * QUOTA
  return {
    most: mostInWindow(all, WINDOW_MS - APART_MS),
    bound: 2 * QUOTA - 1,
    admitted: inTime.length,
    exact,
    share: inTime.length / exact,
  }
}
