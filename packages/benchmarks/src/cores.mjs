// Chooses the cores of this process and the server. Left to the kernel, they share a core in one run and not in the
// next, and that changes the figures more than the choice of the contender does.
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

export const PLACEMENTS = ['apart', 'together', 'free']

/**
 * Pins this process and the server to two cores (`apart`) or to the same one (`together`); `free` pins nothing.
 *
 * @param wanted one of PLACEMENTS
 * @param pid    of the server, undefined when this run did not start it: then nothing is pinned
 * @returns the placement that holds now: `free` when pinning is not possible here
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
    // Not Linux, or the process may not use these cores.
    return 'free'
  }
}

function pin(pid, core) {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], {
    stdio: 'ignore',
  })
}
