// Chooses the CPU cores of this process and the server. If the kernel chooses, they share a core in some runs and not
// in others, and that changes the figures more than the choice of the contender does.
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'

export const PLACEMENTS = ['apart', 'together', 'free']

/**
 * Pins this process and the server to one core each, or both to the same.
 *
 * @param wanted one of PLACEMENTS
 * @param pid    of the server, if this run started it; another's server is not pinned
 * @returns the placement that was reached: `free` if it cannot be done
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
    // Not Linux, or no permission for these cores.
    return 'free'
  }
}

/** Pins a process to a core where that can be done. */
export function pinTo(pid, core) {
  try {
    pin(pid, core)
  } catch {
    // Not Linux, or no permission: the kernel decides.
  }
}

function pin(pid, core) {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)], {
    stdio: 'ignore',
  })
}
