import { ConfigError } from '@tollgate/core'

/**
 * Refuses a store that a middleware has already: both would count the same clients together.
 *
 * @param uses how many have it with this one
 * @throws {ConfigError}
 */
export function refuseSecondUse(uses: number): void {
  if (uses === 1) return
  const remedy = "make one for each, with names of their own: tollgateStore(store, { name: 'login' })"
  throw new ConfigError(
    'store',
    `another middleware has it already, and the two would share their counts: ${remedy}`,
  )
}
