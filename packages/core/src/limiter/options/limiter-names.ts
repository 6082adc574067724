import { ConfigError, show } from '../../base/errors.js'
import { processWide } from '../../base/warnings.js'
import type { Store } from '../../stores/contract.js'

/** The names in use, for each space of a store. A limiter without a name has the empty name. */
const taken = processWide('names of limiters', () => new WeakMap<object, Map<string, object>>())

/**
 * Refuses a limiter that would share its counters with another limiter of this process by mistake.
 *
 * @throws {ConfigError} when another limiter with this name uses the same space
 */
export function needFreeName(store: Store, name: string | undefined): void {
  if (!taken.get(store.space ?? store)?.has(name ?? '')) return
  const what = name === undefined ? 'without a name' : `with the name ${show(name)}`
  throw new ConfigError(
    'name',
    `another limiter ${what} already counts in this store, and the two would share their counters. Give this ` +
      "one a name: { name: 'login', ... }. Or share one limiter: rateLimit({ limiter, group: 'login', limit: '5/min' }). " +
      'If this happens during a request, the limiter is made in a handler: make it once, at startup. close() frees the name',
  )
}

/**
 * Reserves the name for a limiter.
 *
 * @returns a function that frees the name; only its first call does anything
 */
export function takeName(store: Store, name: string | undefined): () => void {
  const space = store.space ?? store
  const names = taken.get(space) ?? new Map<string, object>()
  const holder = {}
  taken.set(space, names.set(name ?? '', holder))
  return () => {
    if (names.get(name ?? '') === holder) names.delete(name ?? '')
  }
}
