import { processWide } from '../../base/process-wide.js'

const spaces = processWide('spaces of Redis clients', () => new WeakMap<object, Map<string, object>>())

/** The same object for all stores of one client and prefix: what they count stands under the same keys. */
export function spaceOf(client: object, prefix: string): object {
  const ofClient = spaces.get(client) ?? new Map<string, object>()
  spaces.set(client, ofClient)
  const space = ofClient.get(prefix) ?? {}
  ofClient.set(prefix, space)
  return space
}
