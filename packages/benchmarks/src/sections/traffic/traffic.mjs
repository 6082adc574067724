// What it costs Node to count requests by subject, for `limiter.traffic`: its share in a profile. To compare it to a limiter that does not
// count takes a machine whose figures differ by less than the few percent that are to be found.
import { startChild } from '../../kit/children.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const CONTENDERS = [names.TRAFFIC, names.TRAFFIC_WATCHED]
const CELLS = {
  memory: { store: 'memory', inFlight: 1 },
  'redis 1': { store: 'redis', inFlight: 1 },
  'redis 64': { store: 'redis', inFlight: 64 },
  'redis 512': { store: 'redis', inFlight: 512 },
}
/** Figures are put down every two seconds while somebody looks, so that a cell has several of that. */
const CELL_MS = { quick: 1500, full: 2500 }

export async function measure({ url, rounds, isQuick }) {
  const children = new Map()
  // The modules of the sources keep their names in a profile.
  const execArgv = [...process.execArgv, '--conditions=@tollgate/source']
  for (const name of CONTENDERS) {
    const child = startChild('sections/traffic/traffic-worker.mjs', [name, url], { execArgv })
    await child.ask()
    children.set(name, child)
  }
  const ms = isQuick ? CELL_MS.quick : CELL_MS.full
  const grids = {}
  for (const [grid, cell] of Object.entries(CELLS)) {
    grids[grid] = await takeTurns(children, rounds, (_name, child) => child.ask({ ...cell, ms }))
  }
  for (const child of children.values()) child.stop()
  return grids
}
