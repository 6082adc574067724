import { ConfigError } from '@tollgate/core'

/**
 * Refuses a store that other middleware already uses: both would count the same clients together.
 *
 * @param uses how many use it, with this one
 * @throws {ConfigError} when there is more than one
 */
export function refuseSecondUse(uses: number): void {
  if (uses === 1) return
  const remedy = "make one for each, with its own name: tollgateStore(store, { name: 'login' })"
  throw new ConfigError(
    'store',
    `another middleware already uses it, and the two would share their counts: ${remedy}`,
  )
}
