import { atCaller, ConfigError, needClock, spaceOf, type Store } from '@tollgate/core/store'
import { portOf, type Memcached } from './clients/index.js'
import type { Connect } from './connection/connection.js'
import { CountingStore } from './counting-store.js'

export interface MemcachedStoreOptions {
  /** The beginning of every key: 1 to 64 letters, digits or `_.:-`. Default: `tollgate`. */
  readonly prefix?: string | undefined
  /**
   * The most counters that this process knows: one for each limit of a subject. What it knows saves trips, and tells it when
   * Memcached lost a counter. Default: 100 000, in 60 to 90 MB.
   */
  readonly maxCounters?: number | undefined
  /**
   * Opens connections to servers, such as with TLS: `({ host, port }) => tls.connect({ host, port })`. Not for a client, which has
   * its own. Default: `connect` of node:net.
   */
  readonly connect?: Connect | undefined
  /** Returns the time in ms since 1970, in place of the common clock; for tests. Counters then stay an hour longer. */
  readonly now?: (() => number) | undefined
}

/**
 * Counts in Memcached 1.6.13 or newer, shared by every process that uses the same servers and prefix: two counters for a
 * sliding window, one for a fixed one. A limit that names no algorithm is a sliding window. One trip a decision.
 *
 * Memcached cannot count a log, a bucket or requests in flight, and grants no leases: limits that need it are refused when the
 * limiter is made. docs/operations/memcached.md says what holds when it evicts, restarts or fails.
 *
 * @param servers the address of a server (`host:port`), several of them, or a client of the package memjs or memcached, which
 *                stays yours. Give every process the same servers in the same order
 * @throws {ConfigError} when the servers are none, or an option is wrong
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

/** @throws {ConfigError} when it is no object, or has an option that does not exist, which is most likely a typo */
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
