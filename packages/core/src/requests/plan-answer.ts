import { isA, show, TollgateError } from '../base/errors.js'
import { quiet } from '../base/quiet.js'
import { thrownText } from '../base/rare-warnings.js'

/** @throws {TollgateError} ERR_TOLLGATE_PLAN when `planOf` gave neither a name nor nothing */
export function readPlan(given: unknown): string | undefined {
  if (given === undefined || given === null || typeof given === 'string') return given ?? undefined
  quiet(given)
  throw planError(`planOf gave ${show(given)}, expected the name of a plan, such as row.plan, or nothing`)
}

export function planError(message: string, options?: ErrorOptions): TollgateError {
  return new TollgateError('ERR_TOLLGATE_PLAN', message, options)
}

export function planErrorOf(thrown: unknown): TollgateError {
  return isA(thrown, TollgateError)
    ? thrown
    : planError(`planOf failed: ${thrownText(thrown)}`, { cause: thrown })
}
