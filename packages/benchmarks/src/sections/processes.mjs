// 1 to 8 processes on one Redis, each with 64 requests in flight, on the same subjects.
import { startChild } from '../kit/children.mjs'
import { serverWork } from '../kit/redis.mjs'
import { takeTurns } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

const ROWS = [names.INCR, names.BUCKET, names.LOG, names.INCR_AGAIN]
const MOST = 8

export async function measure({ url, clients, monitor, rounds, cellMs, isQuick }) {
  const crowd = Array.from({ length: MOST }, () => startChild('sections/load-worker.mjs', [url]))
  await Promise.all(crowd.map((child) => child.ask()))
  const contenders = new Map(ROWS.map((name) => [name, name]))
  const grids = {}
  for (const count of [1, 2, 4, 8]) {
    const cell = async (name) => {
      await clients.client.flushdb()
      const load = (ms) => crowdLoad(crowd.slice(0, count), { name, ms })
      await load(cellMs / 2)
      const before = await serverWork(monitor)
      const start = performance.now()
      const decisions = await load(cellMs)
      const seconds = (performance.now() - start) / 1000
      const { cpuUs } = await serverWork(monitor)
      return { perSecond: decisions / seconds, serverUs: (cpuUs - before.cpuUs) / decisions }
    }
    grids[String(count)] = await takeTurns(contenders, isQuick ? 3 : rounds, cell)
  }
  for (const child of crowd) child.stop()
  return grids
}

async function crowdLoad(crowd, load) {
  const all = await Promise.all(crowd.map((child) => child.ask({ inFlight: 64, ...load })))
  return all.reduce((sum, { decisions }) => sum + decisions, 0)
}
