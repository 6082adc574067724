import { ConfigError } from '@tollgate/core'
import { type Algorithm, createLimitSet } from '@tollgate/core/store'
import { UNREACHABLE } from './hit.js'

/**
 * Reads a middleware's limit. A fraction of a request is none, and a limit that nobody can reach is as good as any other.
 *
 * @param name what the middleware calls it
 * @returns a whole number; 0 if no request fits
 * @throws {ConfigError} when it is not a limit
 */
export function quotaOf(limit: unknown, name: string): number {
  if (typeof limit === 'number' && limit >= 0) return Math.min(Math.floor(limit), UNREACHABLE)
  throw ConfigError.wrong(name, limit, 'a number of requests from 0, such as 100')
}

/**
 * Checks the length of a window.
 *
 * @param name what the middleware calls it
 * @throws {ConfigError}
 */
export function needWindow(windowMs: unknown, name: string): asserts windowMs is number {
  // Said here, since core speaks of its own notation of times.
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
 * A bucket has no window: it forgets a request as soon as one unit came back, and those of a limit that nobody can reach
 * come back at once.
 *
 * @param what such a limit counts
 * @throws {ConfigError}
 */
export function refuseBucket(algorithm: Algorithm | undefined, what: string): void {
  if (algorithm !== 'token-bucket') return
  throw new ConfigError('algorithm', `got 'token-bucket', which cannot count ${what}: leave it out`)
}

/**
 * A name as a part of keys: it has no space then.
 *
 * @param path what the user calls it
 * @throws {ConfigError} for half of a pair of surrogates, which no encoding has
 */
export function encodeName(name: string, path: string): string {
  try {
    return encodeURIComponent(name)
  } catch {
    throw ConfigError.wrong(path, name, 'well-formed text, without half of a surrogate pair')
  }
}

/** By its code, since a process can load the class twice. */
export function isConfigError(error: unknown): error is ConfigError {
  return (error as Partial<ConfigError> | undefined)?.code === 'ERR_TOLLGATE_CONFIG'
}
