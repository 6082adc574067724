import { processWide } from '../base/warnings.js'

const ofClients = processWide('spaces of clients', () => new WeakMap<object, Map<string, object>>())
const ofServers = processWide('spaces of servers', () => new Map<string, Map<string, object>>())

/**
 * Identifies the keys of one client, or of servers by their addresses, under one prefix. Stores with the same object use the same
 * keys.
 */
export function spaceOf(where: object | string, prefix: string): object {
  const ofClient = (typeof where === 'string' ? ofServers.get(where) : ofClients.get(where)) ?? new Map()
  if (typeof where === 'string') ofServers.set(where, ofClient)
  else ofClients.set(where, ofClient)
  const space = ofClient.get(prefix) ?? {}
  ofClient.set(prefix, space)
  return space
}
