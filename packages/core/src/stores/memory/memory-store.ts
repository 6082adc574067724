import { ConfigError } from '../../base/errors.js'
import { needOptions } from '../../base/option-checks.js'
import type { Store } from '../contract.js'
import { ProcessStore } from './process-store.js'
import { warnOfSeveralProcesses } from './several-processes.js'

export interface MemoryStoreOptions {
  /**
   * How many subjects are remembered at most; beyond it the one that has been idle longest is forgotten, which the
   * event `evicted` tells. docs/stores-and-failures.md says how to size it. Default: 100 000.
   */
  readonly maxSubjects?: number
  /** Now, in ms since 1970, in place of the system's clock; for tests. Subjects are then remembered an hour longer. */
  readonly now?: () => number
}

/**
 * Counts in this process's memory: the store when none is given. Several processes each hold a tenant to the
 * whole plan, and where they are seen to be several, a process warning says so. Nothing runs in the background:
 * subjects that can be forgotten leave while others come.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  needOptions(options, ['maxSubjects', 'now'], 'memoryStore')
  const { maxSubjects = 100_000, now } = options
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1) {
    throw ConfigError.wrong('maxSubjects', maxSubjects, 'a whole number from 1, such as 100000')
  }
  if (now !== undefined && typeof now !== 'function') {
    throw ConfigError.wrong('now', now, 'a function that returns ms since 1970: () => Date.now()')
  }
  warnOfSeveralProcesses()
  return new ProcessStore(maxSubjects, now)
}
