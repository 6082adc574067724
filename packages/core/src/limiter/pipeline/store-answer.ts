import { isA, show, StoreError, toStoreError } from '../../base/errors.js'
import { type MaybePromise, quiet, quietEach } from '../../base/promises.js'
import type { Request } from '../../requests/request.js'
import type { Answer, Store } from '../../stores/contract.js'

/** The answer of a synchronous store, or the error it throws. */
export function askNow(store: Store, how: 'consume' | 'peek', request: Request): unknown {
  try {
    return onlyOf(how === 'peek' ? store.peek([request]) : store.consume([request]))
  } catch (error) {
    return error
  }
}

/** The only answer of a list. Promises in a list that is wrong are silenced. */
function onlyOf(answers: MaybePromise<readonly Answer[]>): unknown {
  if (Array.isArray(answers) && answers.length === 1) {
    const answer = answers[0] as Partial<Promise<Answer>> | undefined
    if (answer?.then === undefined) return answer
  }
  quietEach(answers)
  return answers instanceof Promise ? answers : (answers as readonly Answer[])[0]
}

/** The error for a store's answer that is not an outcome. */
export function errorOf(given: unknown): StoreError {
  if (isA(given, StoreError)) return given
  // Such as of a store that claims to be synchronous.
  quiet(given)
  if (isA(given, Error)) return toStoreError(given)
  const expected = '{ at, limits } with { wait, remaining, reset } for each limit of the plan'
  return new StoreError(`the store answered a request with ${show(given)}, expected ${expected}`)
}
