import {
  ConfigError,
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type Store,
  type StoreError,
} from '@tollgate/core'
import { checkStore, type Algorithm } from '@tollgate/core/store'
import { isConfigError } from './limited.js'

/** Of a limiter's options those that do not say how much a client may use: the middleware says that. */
type Backing = Pick<
  LimiterOptions,
  'name' | 'onStoreFailure' | 'local' | 'deadlineMs' | 'denials' | 'hashIds' | 'warnings'
>

export interface StoreOptions extends Backing {
  /**
   * How windows are counted: docs/guides/plans-and-limits.md has the worst case of each. Default: `sliding-log`, which is exact,
   * or what the store has in its place.
   */
  readonly algorithm?: Algorithm | undefined
}

/** What counts for a store: the limiter, and the limits that it is given with each subject. */
export interface Backed {
  readonly limiter: Limiter
  readonly algorithm: Algorithm | undefined
  /** How refused requests and blocks are counted: as long as they last, where the store can. */
  readonly forRefusals: Algorithm | undefined
  /** The algorithm of limits that name none. */
  readonly defaultAlgorithm: Algorithm | undefined
  /** The last fault that the store has told of. */
  readonly lastFault: () => StoreError | undefined
  /** The time in ms that limits pass by, from some beginning. */
  readonly now: () => number
}

/**
 * Checks the arguments of a `tollgateStore` and makes its limiter. Does no I/O.
 *
 * @throws {ConfigError} when an argument is wrong
 */
export function backing(store: Store, options: StoreOptions): Backed {
  // Without this, a limiter would count in memory where a store was forgotten.
  checkStore(store, 'store')
  needOwnOptions(options)
  const { algorithm, ...rest } = options
  // Every request brings limits of its own. This one is never asked: a limiter has at least one.
  const limit = { quota: 1, window: 'min', ...(algorithm !== undefined && { algorithm }) }
  const limiter = asOptions(() => createLimiter({ ...rest, store, limit }))
  let fault: StoreError | undefined
  limiter.on('storeError', (error) => (fault = error))
  const { algorithms, defaultAlgorithm } = store
  const hasLog = algorithms?.includes('sliding-log') ?? true
  return {
    ...{ limiter, algorithm, defaultAlgorithm },
    forRefusals: hasLog ? 'sliding-log' : (defaultAlgorithm ?? algorithm),
    lastFault: () => fault,
    now: store.testClock ?? ((): number => performance.now()),
  }
}

const OF_THE_MIDDLEWARE = ['limit', 'plans', 'defaultPlan', 'planOf', 'planCache']

/** Refuses what a limiter would take; it refuses the rest itself. */
function needOwnOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw ConfigError.wrong('options', options, "an object of options, such as { name: 'login' }")
  }
  if ('store' in options) {
    throw new ConfigError('store', 'it is the first argument: tollgateStore(store, options)')
  }
  const [found] = OF_THE_MIDDLEWARE.filter((name) => name in options)
  if (found === undefined) return
  throw new ConfigError(
    found,
    'how much a client may use is said by the options of the middleware: leave it out',
  )
}

/** Names an option by where the user wrote it, which was not in a limit. */
function asOptions<Made>(make: () => Made): Made {
  try {
    return make()
  } catch (error) {
    if (!isConfigError(error) || !error.path.startsWith('limit')) throw error
    throw new ConfigError('algorithm', error.problem)
  }
}
