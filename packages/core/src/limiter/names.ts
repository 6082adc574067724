import { ConfigError, show } from '../base/errors.js'
import { processWide } from '../base/process-wide.js'
import type { Store } from '../stores/contract.js'

/** The names in use, for each space of a store. A limiter without a name has the empty name. */
const taken = processWide('names of limiters', () => new WeakMap<object, Map<string, object>>())

/**
 * Refuses a limiter that would share its counters with another limiter of this process by mistake.
 *
 * @throws {ConfigError} when another limiter with this name uses the same space
 */
export function needFreeName(store: Store, name: string | undefined): void {
  if (!taken.get(placeOf(store))?.has(name ?? '')) return
  const what = name === undefined ? 'without a name' : `with the name ${show(name)}`
  throw new ConfigError(
    'name',
    `another limiter ${what} counts in the same store already (for Redis: the same client and prefix), and the two ` +
      "would share their counters. Give this one a name of its own, such as name: 'login', which goes into its keys; " +
      'or make one limiter for both places: const limiter = createLimiter({ ... }), then rateLimit({ limiter }). ' +
      'close() of a limiter frees its name. Make limiters when the application starts, never in a request handler',
  )
}

/**
 * Reserves the name for a limiter.
 *
 * @returns frees the name; only the first call does anything
 */
export function takeName(store: Store, name: string | undefined): () => void {
  const place = placeOf(store)
  const names = taken.get(place) ?? new Map<string, object>()
  const holder = {}
  taken.set(place, names.set(name ?? '', holder))
  return () => {
    if (names.get(name ?? '') === holder) names.delete(name ?? '')
  }
}

/** The object that all stores with the same keys share. */
function placeOf(store: Store): object {
  return store.space ?? store
}
