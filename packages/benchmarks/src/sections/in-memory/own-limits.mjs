// Limits that each subject brings, a new list at each request, beside the same subjects on named plans: Node's time a
// decision, and what the process keeps of them.
import { startChild } from '../../kit/children.mjs'
import { SUBJECTS } from '../../kit/load.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const CONTENDERS = [names.NAMED_PLANS, names.OWN_LIMITS, names.NAMED_PLANS_AGAIN]
/** Contracts that many tenants share. */
const FEW = 100

export async function measure({ url, cellMs, rounds, isQuick }) {
  const children = new Map()
  for (const name of CONTENDERS) {
    const child = startChild('sections/in-memory/own-limits-worker.mjs', [name, url])
    await child.ask()
    children.set(name, child)
  }
  const turns = isQuick ? 3 : rounds + 2
  const grid = (store, contracts) =>
    takeTurns(children, turns, (_name, child) => child.ask({ store, contracts, ms: cellMs }))
  const compared = [names.NAMED_PLANS, names.OWN_LIMITS].map((name) => [name, children.get(name)])
  const grids = {
    memory: await grid('memory', SUBJECTS),
    redis: await grid('redis', SUBJECTS),
    'memory few': await grid('memory', FEW),
    'redis few': await grid('redis', FEW),
    heap: await takeTurns(new Map(compared), 1, (_name, child) => child.ask({ grid: 'heap' })),
  }
  for (const child of children.values()) child.stop()
  return grids
}
