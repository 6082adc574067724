import { ConfigError } from '@tollgate/core/store'
import { readAddress } from '../connection/address.js'
import type { Connect } from '../connection/connection.js'
import { OwnPort } from '../connection/own-port.js'
import { isMemjs, MemjsPort, type MemjsClient } from './memjs.js'
import { isNodeMemcached, NodeMemcachedPort, type NodeMemcachedClient } from './node-memcached.js'
import type { MemcachedPort } from './port.js'

/** Where Memcached is: a server's address, a list of addresses, or a client of the package memjs or memcached. */
export type Memcached = string | readonly string[] | MemjsClient | NodeMemcachedClient

const EXPECTED =
  "a server such as '127.0.0.1:11211', a list of servers, or a client of the package memjs or memcached"

/** @throws {ConfigError} when it is neither servers nor a client */
export function portOf(given: unknown, connect: Connect | undefined): MemcachedPort {
  if (typeof given === 'string') return new OwnPort([readAddress(given, 'servers')], connect)
  if (Array.isArray(given)) return new OwnPort(addressesOf(given), connect)
  if (connect !== undefined) {
    throw new ConfigError(
      'connect',
      'it opens connections to servers, but a client opens its own: leave it out',
    )
  }
  if (isMemjs(given)) return new MemjsPort(given)
  if (isNodeMemcached(given)) return new NodeMemcachedPort(given)
  throw ConfigError.wrongSecret('servers', given, EXPECTED)
}

function addressesOf(given: readonly unknown[]): ReturnType<typeof readAddress>[] {
  if (given.length === 0) throw ConfigError.wrong('servers', given, EXPECTED)
  const addresses = given.map((one, i) => readAddress(one, `servers[${i}]`))
  const texts = addresses.map((address) => JSON.stringify(address))
  const twice = texts.findIndex((text, i) => texts.indexOf(text) !== i)
  if (twice === -1) return addresses
  throw ConfigError.wrong(`servers[${twice}]`, given[twice], 'each server once')
}
