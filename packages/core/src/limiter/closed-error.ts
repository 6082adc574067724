import { StoreError } from '../base/errors.js'

/** The error of what comes after `close`. */
export function closedError(): StoreError {
  return new StoreError('the limiter was closed: close it after the last request', {
    code: 'ERR_TOLLGATE_CLOSED',
  })
}
