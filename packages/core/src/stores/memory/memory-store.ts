import { atCaller, ConfigError } from '../../base/errors.js'
import { needClock, needOptions, isWhole } from '../../base/options.js'
import { isOneOfSeveral } from '../../base/platform.js'
import { warn } from '../../base/warnings.js'
import type { Store } from '../contract.js'
import { ProcessStore } from './process-store.js'

/** The options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * The most subjects to remember. When there are more, the store forgets the one that was idle longest, and the event
   * `evicted` reports it. docs/operations/stores-and-failures.md says how to choose the number. Default: 100 000.
   */
  readonly maxSubjects?: number | undefined
  /** For tests: returns the time in ms since 1970, instead of the system's clock. Subjects then stay an hour longer. */
  readonly now?: (() => number) | undefined
}

/**
 * Makes a store that counts in this process's memory. A limiter without a store uses one. If an application has several
 * processes, each allows a subject its whole plan, and a limiter that notices emits a process warning. Nothing runs in the
 * background: expired subjects are removed while others are used.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  return atCaller(memoryStore, () => makeStore(options))
}

function makeStore(options: MemoryStoreOptions): Store {
  needOptions(options, ['maxSubjects', 'now'], 'memoryStore')
  const { maxSubjects = 100_000, now } = options
  if (!isWhole(maxSubjects, 1)) {
    throw ConfigError.wrong('maxSubjects', maxSubjects, 'a whole number from 1, such as 100000')
  }
  needClock(now)
  return new ProcessStore(maxSubjects, now)
}

/** On globalThis, so that the ESM and the CommonJS build warn only once when a process loads both. */
const WARNED = Symbol.for('@tollgate/core: memory store in several processes')

const TEXT = `The memory store counts in each process of this application by itself, so a subject has its whole plan \
in each of them. To share counts, use Redis: store: redisStore(client)`

/** Warns once if a store counts in memory, and this is one of an application's several processes. */
export function warnOfSeveralProcesses(store: Store): void {
  const told = globalThis as { [WARNED]?: boolean }
  if (told[WARNED] || !(store instanceof ProcessStore) || !isOneOfSeveral()) return
  told[WARNED] = true
  warn('TOLLGATE_PROCESSES', TEXT)
}
