// What it costs Node to count requests by subject, for `limiter.traffic`: beside a limiter that does not.
import { startChild } from '../../kit/children.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const CONTENDERS = [names.NO_TRAFFIC, names.TRAFFIC, names.TRAFFIC_WATCHED, names.NO_TRAFFIC_AGAIN]
const CELLS = {
  memory: { store: 'memory', inFlight: 1 },
  'redis 1': { store: 'redis', inFlight: 1 },
  'redis 64': { store: 'redis', inFlight: 64 },
  'redis 512': { store: 'redis', inFlight: 512 },
}

export async function measure({ url, cellMs, rounds, isQuick }) {
  const children = new Map()
  for (const name of CONTENDERS) {
    const child = startChild('sections/traffic/traffic-worker.mjs', [name, url])
    await child.ask()
    children.set(name, child)
  }
  const grids = {}
  for (const [grid, cell] of Object.entries(CELLS)) {
    grids[grid] = await takeTurns(children, isQuick ? 3 : rounds, (_name, child) =>
      child.ask({ ...cell, ms: cellMs }),
    )
  }
  for (const child of children.values()) child.stop()
  return grids
}
