import { atCaller, ConfigError, needClock, spaceOf, type Store } from '@tollgate/core/store'
import { portOf, type Memcached } from './clients/index.js'
import type { Connect } from './connection/connection.js'
import { CountingStore } from './counting/counting-store.js'

/** The options of `memcachedStore`. */
export interface MemcachedStoreOptions {
  /** The beginning of every key: 1 to 64 letters, digits or `_.:-`. Default: `tollgate`. */
  readonly prefix?: string | undefined
  /**
   * The most counters that this process remembers, one for each limit of a subject. That saves round trips, and shows when
   * Memcached has lost a counter. Default: 100 000, which take 60 to 90 MB.
   */
  readonly maxCounters?: number | undefined
  /**
   * Opens connections to servers, for example with TLS: `({ host, port }) => tls.connect({ host, port })`. Not for a client, which
   * opens its own. Default: `connect` of node:net.
   */
  readonly connect?: Connect | undefined
  /** For tests: returns the time in ms since 1970, instead of the common clock. Counters then stay an hour longer. */
  readonly now?: (() => number) | undefined
}

/**
 * Makes a store that counts in Memcached 1.6.13 or newer. All processes with the same servers and prefix share the counts. A
 * decision takes one round trip. A limit that names no algorithm is a sliding window.
 *
 * Memcached counts only fixed and sliding windows: no logs, buckets or requests in flight. It grants no leases. Limits that need
 * any of these are refused when the limiter is made. docs/operations/memcached.md says what holds if it evicts, restarts or fails.
 *
 * @param servers a server's address (`host:port`), a list of them, or a client of the package memjs or memcached, which stays
 *                yours. Give every process the same servers in the same order
 * @throws {ConfigError} when it is neither servers nor a client, or an option is wrong
 * @example
 * const limiter = createLimiter({ limit: '100/min', store: memcachedStore('127.0.0.1:11211') })
 */
export function memcachedStore(servers: Memcached, options: MemcachedStoreOptions = {}): Store {
  return atCaller(memcachedStore, () => makeStore(servers, options))
}

function makeStore(servers: Memcached, options: MemcachedStoreOptions): Store {
  needOptions(options)
  const { prefix = 'tollgate', maxCounters = 100_000, connect, now } = options
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    throw ConfigError.wrong('prefix', prefix, "1 to 64 letters, digits or _.:-, such as 'myapp'")
  }
  if (!Number.isSafeInteger(maxCounters) || maxCounters < 1) {
    throw ConfigError.wrong('maxCounters', maxCounters, 'a whole number from 1, such as 100000')
  }
  if (connect !== undefined && typeof connect !== 'function') {
    const expected = 'a function that returns a socket: ({ host, port }) => tls.connect({ host, port })'
    throw ConfigError.wrong('connect', connect, expected)
  }
  needClock(now)
  const port = portOf(servers, connect)
  return new CountingStore(port, { prefix, maxCounters, space: spaceOf(port.servers, prefix), now })
}

const OPTIONS = ['prefix', 'maxCounters', 'connect', 'now']

/** @throws {ConfigError} when it is not an object, or has an option that does not exist, most likely by a typo */
function needOptions(options: unknown): void {
  if (Object.prototype.toString.call(options) !== '[object Object]') {
    throw ConfigError.wrong('memcachedStore', options, `an object of options: ${OPTIONS.join(', ')}`)
  }
  for (const name of Object.keys(options as object)) {
    if (OPTIONS.includes(name)) continue
    const path = /^[\w$-]{1,64}$/.test(name) ? `memcachedStore.${name}` : 'memcachedStore'
    throw new ConfigError(path, `there is no such option here; there are ${OPTIONS.join(', ')}`)
  }
}
