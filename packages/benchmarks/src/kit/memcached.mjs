// The Memcached of a section, its figures, and who is compared on it.
import { once } from 'node:events'
import { connect } from 'node:net'
import { memcachedStore } from '@tollgate/memcached'
import Memcached from 'memcached'
import memjs from 'memjs'
import { RateLimiterMemcache } from 'rate-limiter-flexible'
import * as names from '../names.mjs'
import { allowedByFlexible, tollgateOn } from './contenders.mjs'

/** What adds, takes away and writes; every command counts as one. */
const CHANGES = /^STAT (?:cmd_set|incr_hits|incr_misses|decr_hits|decr_misses) (\d+)/gm
const READS = /^STAT cmd_get (\d+)/gm
const CPU = /^STAT rusage_(?:user|system) ([\d.]+)/gm

/** A connection that only asks for figures. */
export async function openMonitor(port) {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return {
    /** What the server has done so far: the commands of all connections by kind, and µs of its CPU time. */
    work: async () => {
      socket.write('stats\r\n')
      let text = ''
      while (!text.endsWith('END\r\n')) text += String((await once(socket, 'data'))[0])
      return { changes: sum(text, CHANGES), reads: sum(text, READS), cpuUs: sum(text, CPU) * 1e6 }
    },
    close: () => socket.destroy(),
  }
}

function sum(text, figures) {
  return [...text.matchAll(figures)].reduce((total, [, value]) => total + Number(value), 0)
}

/** Opens what the contenders need: one client of each package. */
export function openClients(address) {
  // With its defaults it would not ask a server for hours after five errors, and Tollgate warns of that.
  const node = new Memcached(address, { retry: 1000, reconnect: 1000 })
  const users = memjs.Client.create(address)
  const close = () => {
    node.end()
    users.close()
  }
  return { address, node, memjs: users, close }
}

let made = 0

/** A sliding window of two counters. @returns {import('./contenders.mjs').Contender} */
export function onMemcached(servers, { quota, windowMs }, denials = true) {
  made += 1
  const store = memcachedStore(servers, { prefix: `bench-${String(made).padStart(2, '0')}` })
  return tollgateOn(store, { quota, window: windowMs }, denials)
}

/** Fixed windows of one counter, with a second key for its end. @returns {import('./contenders.mjs').Contender} */
export function flexibleOnMemcached(storeClient, { quota, windowMs }, options) {
  made += 1
  const limiter = new RateLimiterMemcache({
    ...{ storeClient, points: quota, duration: windowMs / 1000, keyPrefix: `rlf-${made}` },
    ...options,
  })
  return { decide: (id) => limiter.consume(id), allowed: allowedByFlexible }
}

/** Everybody, for one load, the reference first and last. */
export function fieldOf({ address, node, memjs: users }, load) {
  return new Map([
    [names.FLEXIBLE_MEMCACHED, flexibleOnMemcached(node, load)],
    [names.MEMCACHED_ADDRESS, onMemcached(address, load)],
    [names.MEMCACHED_NODE, onMemcached(node, load)],
    [names.MEMCACHED_MEMJS, onMemcached(users, load)],
    [names.FLEXIBLE_MEMCACHED_AGAIN, flexibleOnMemcached(node, load)],
  ])
}

/** Those that keep in memory who is denied, and one that asks for every denial. */
export function deniersOf({ address, node, memjs: users }, load) {
  const block = { inMemoryBlockOnConsumed: load.quota }
  return new Map([
    [names.FLEXIBLE_MEMCACHED_BLOCK, flexibleOnMemcached(node, load, block)],
    [names.MEMCACHED_ADDRESS, onMemcached(address, load)],
    [names.MEMCACHED_NODE, onMemcached(node, load)],
    [names.MEMCACHED_MEMJS, onMemcached(users, load)],
    [names.MEMCACHED_ASKED, onMemcached(address, load, false)],
    [names.FLEXIBLE_MEMCACHED, flexibleOnMemcached(node, load)],
    [names.FLEXIBLE_MEMCACHED_BLOCK_AGAIN, flexibleOnMemcached(node, load, block)],
  ])
}
