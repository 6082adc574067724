import type { MaybePromise } from '../base/maybe-promise.js'
import { toThrown } from './thrown.js'

/**
 * Has a request decided, for a framework that goes on by a callback.
 *
 * @param admit what decides it: true to go on, false when it has been answered
 * @param next  called without an argument to go on, and with what was thrown for the framework's error handling; not
 *              called when the request has been answered
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
  // next stands outside of what catches, so that an error of the application is not reported twice.
  if (typeof admitted === 'boolean') goOn(admitted)
  else admitted.then(goOn, (error: unknown) => next(toThrown(error)))
}
