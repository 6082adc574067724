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

/** A limiter's options, except how much a client may use: the middleware sets that. */
type Backing = Pick<
  LimiterOptions,
  'name' | 'onStoreFailure' | 'local' | 'deadlineMs' | 'denials' | 'hashIds' | 'warnings'
>

/** The options of `tollgateStore`: those of a limiter that do not set how much a client may use, and the algorithm. */
export interface StoreOptions extends Backing {
  /**
   * How windows are counted. docs/guides/plans-and-limits.md has each algorithm's worst case. Default: the store's own. For Redis
   * and memory that is `sliding-log`, which is exact.
   */
  readonly algorithm?: Algorithm | undefined
}

/** What a `tollgateStore` counts with. */
export interface Backed {
  readonly limiter: Limiter
  readonly algorithm: Algorithm | undefined
  /** How refused requests and blocks are counted: for exactly as long as they last, if the store can. */
  readonly forRefusals: Algorithm | undefined
  /** The algorithm of limits that name none. */
  readonly defaultAlgorithm: Algorithm | undefined
  /** The latest error of the store. */
  readonly lastFault: () => StoreError | undefined
  /** The time in ms by which windows pass, from any beginning. */
  readonly now: () => number
}

/**
 * Checks the arguments of `tollgateStore` and makes its limiter. Does no I/O.
 *
 * @throws {ConfigError} when an argument is wrong
 */
export function backing(store: Store, options: StoreOptions): Backed {
  // Without this check, the limiter would count in memory if the store was forgotten.
  checkStore(store, 'store')
  needOwnOptions(options)
  const { algorithm, ...rest } = options
  // Every request brings its own limits. This one is never asked, but a limiter needs at least one.
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

/** Refuses options that a limiter would take. The limiter refuses all other wrong ones. */
function needOwnOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw ConfigError.wrong('options', options, "an object of options, such as { name: 'login' }")
  }
  if ('store' in options) {
    throw new ConfigError('store', 'it is the first argument: tollgateStore(store, options)')
  }
  const [found] = OF_THE_MIDDLEWARE.filter((name) => name in options)
  if (found === undefined) return
  throw new ConfigError(found, "the middleware's options set how much a client may use: leave this out")
}

/** Names the option that the user wrote: not a limit, but `algorithm`. */
function asOptions<Made>(make: () => Made): Made {
  try {
    return make()
  } catch (error) {
    if (!isConfigError(error) || !error.path.startsWith('limit')) throw error
    throw new ConfigError('algorithm', error.problem)
  }
}
