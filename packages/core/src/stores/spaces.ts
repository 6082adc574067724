import { processWide } from '../base/process-wide.js'

const spaces = processWide('spaces of clients', () => new WeakMap<object, Map<string, object>>())

/** Identifies the keys of one client and prefix. Stores with the same object use the same keys. */
export function spaceOf(client: object, prefix: string): object {
  const ofClient = spaces.get(client) ?? new Map<string, object>()
  spaces.set(client, ofClient)
  const space = ofClient.get(prefix) ?? {}
  ofClient.set(prefix, space)
  return space
}
