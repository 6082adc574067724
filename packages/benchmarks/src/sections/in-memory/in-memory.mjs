// Decisions in the memory of one process: no Redis at all. Each contender has a process of its own, as it has where it is
// used: what the engine learns of one limiter's code would slow the others.
import { startChild } from '../../kit/children.mjs'
import { MEMORY_CONTENDERS } from '../../kit/memory-field.mjs'
import { takeTurns } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'

const DENIERS = [names.FLEXIBLE_MEMORY, names.BUCKET, names.LOG, names.FLEXIBLE_MEMORY_AGAIN]

export async function measure({ cellMs, rounds, isQuick }) {
  const children = new Map()
  for (const name of Object.keys(MEMORY_CONTENDERS)) {
    const child = startChild('sections/in-memory/in-memory-worker.mjs', [name])
    await child.ask()
    children.set(name, child)
  }
  const grid = (which, of, count) =>
    takeTurns(new Map(of.map((name) => [name, children.get(name)])), count, (_name, child) =>
      child.ask({ grid: which, ms: cellMs }),
    )
  const all = [...children.keys()]
  const turns = isQuick ? 3 : rounds + 2
  const grids = {
    'in-memory': await grid('in-memory', all, turns),
    denied: await grid('denied', DENIERS, turns),
    heap: await grid(
      'heap',
      all.filter((name) => name !== names.FLEXIBLE_MEMORY_AGAIN),
      1,
    ),
  }
  for (const child of children.values()) child.stop()
  return grids
}
