import { toError } from '../../base/errors.js'
import type { MaybePromise } from '../../base/promises.js'

/**
 * Decides a request in a framework that continues by a callback, such as Express.
 *
 * @param admit decides: true to continue, false when the request was answered with a denial
 * @param next  called without an argument to continue, with an error when `admit` threw or rejected; not called when
 *              the request was answered
 */
export function admitThen(admit: () => MaybePromise<boolean>, next: (thrown?: object) => void): void {
  const goOn = (admitted: boolean): void => {
    if (admitted) next()
  }
  let admitted
  try {
    admitted = admit()
  } catch (error) {
    next(toThrown(error))
    return
  }
  // `next` is called outside the try block: an error thrown by the application must not be passed to `next` again.
  if (typeof admitted === 'boolean') goOn(admitted)
  else admitted.then(goOn, (error: unknown) => next(toThrown(error)))
}

/**
 * Prepares a value thrown by a user's function for a framework's error handling. Objects stay as they are, since
 * frameworks read their `statusCode`. Other values become an Error: to Express `next(undefined)` means success, and
 * `next('route')` skips a route.
 */
export function toThrown(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null ? thrown : toError(thrown)
}
