// Where this process and the server run. Left to the kernel, they share a core in one run and not in the next, and
// figures of the two differ more than most contenders do.
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

export const PLACEMENTS = ['apart', 'together', 'free']

/**
 * Keeps both on one core each, or on the same one.
 *
 * @param wanted one of PLACEMENTS
 * @param pid    of a server that is ours; of another's nothing is changed
 * @returns what came of it: `free` where it cannot be done
 */
export function placeOnCores(wanted, pid) {
  if (!PLACEMENTS.includes(wanted))
    throw new Error(`--cores: got ${wanted}, expected ${PLACEMENTS.join(', ')}`)
  if (wanted === 'free' || pid === undefined || cpus().length < 2) return 'free'
  try {
    pin(pid, 1)
    pin(process.pid, wanted === 'together' ? 1 : 0)
    return wanted
  } catch {
    // Not Linux, or these cores are not ours to choose.
    return 'free'
  }
}

function pin(pid, core) {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], {
    stdio: 'ignore',
  })
}
