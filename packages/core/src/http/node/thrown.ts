import { toError } from '../../base/errors.js'

/**
 * Prepares a value thrown by a user's function for a framework's error handling. Objects stay as they are, since
 * frameworks read their `statusCode`. Other values become an Error: to Express `next(undefined)` means success, and
 * `next('route')` skips a route.
 */
export function toThrown(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null ? thrown : toError(thrown)
}
