import { ConfigError } from '@tollgate/core'
import { type Algorithm, createLimitSet } from '@tollgate/core/store'
import { UNREACHABLE } from './hit.js'

/**
 * Reads a middleware's limit. Rounds it down, and replaces a limit that no client can reach by the largest quota.
 *
 * @param name the middleware's name for it
 * @returns a whole number; 0 if no request fits
 * @throws {ConfigError} when it is not a limit
 */
export function quotaOf(limit: unknown, name: string): number {
  if (typeof limit === 'number' && limit >= 0) return Math.min(Math.floor(limit), UNREACHABLE)
  throw ConfigError.wrong(name, limit, 'a number of requests from 0, such as 100')
}

/**
 * Checks a window's length.
 *
 * @param name the middleware's name for it
 * @throws {ConfigError} when it is not a whole number of ms, or no window of a limit
 */
export function needWindow(windowMs: unknown, name: string): asserts windowMs is number {
  // Checked here, since core's error would describe its own notation for times.
  if (!Number.isInteger(windowMs) || (windowMs as number) < 1) {
    throw ConfigError.wrong(name, windowMs, 'a time in whole ms from 1, such as 60000')
  }
  try {
    createLimitSet({ quota: 1, window: windowMs as number })
  } catch (error) {
    throw isConfigError(error) ? new ConfigError(name, error.problem) : error
  }
}

/**
 * Refuses a bucket where the count matters. A bucket has no window: it forgets a request as soon as a unit comes back, and with a
 * limit that no client can reach, units come back at once.
 *
 * @param what such a limit counts
 * @throws {ConfigError} when it is a bucket
 */
export function refuseBucket(algorithm: Algorithm | undefined, what: string): void {
  if (algorithm !== 'token-bucket') return
  throw new ConfigError('algorithm', `got 'token-bucket', which cannot count ${what}: leave it out`)
}

/**
 * Encodes a name as a part of keys, without spaces.
 *
 * @param path the user's name for it
 * @throws {ConfigError} for half of a surrogate pair, which cannot be encoded
 */
export function encodeName(name: string, path: string): string {
  try {
    return encodeURIComponent(name)
  } catch {
    throw ConfigError.wrong(path, name, 'well-formed text, with both halves of each surrogate pair')
  }
}

/** Checks the code, since a process can load the class twice. */
export function isConfigError(error: unknown): error is ConfigError {
  return (error as Partial<ConfigError> | undefined)?.code === 'ERR_TOLLGATE_CONFIG'
}
