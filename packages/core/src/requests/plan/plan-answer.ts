import { isA, show, TollgateError } from '../../base/errors.js'
import { isOptions } from '../../base/options.js'
import { quiet } from '../../base/promises.js'
import { thrownText } from '../../base/warnings.js'
import type { OwnLimits } from '../../plans/own-limits.js'
import type { Plan } from '../../plans/plan.js'
import { isNone } from '../subject/subject.js'

/** What `planOf` may answer. */
export type PlanAnswer = string | { readonly limits: OwnLimits | null | undefined } | null | undefined

/** What is found of a subject: the name of its plan, or its own limits as a plan; undefined: nothing. */
export type Found = string | Plan | undefined

/**
 * @param ofLimits compiles limits
 * @throws {TollgateError} ERR_TOLLGATE_PLAN when `planOf` gave neither a name nor limits nor nothing
 */
export function readPlan(given: unknown, ofLimits: (limits: unknown) => Plan): Found {
  if (given === undefined || given === null || typeof given === 'string') return given ?? undefined
  if (isOptions(given) && Object.keys(given).join() === 'limits') {
    const { limits } = given as { readonly limits: unknown }
    return isNone(limits) ? undefined : ofLimits(limits)
  }
  quiet(given)
  const expected = "the name of a plan, such as row.plan, limits, such as { limits: ['40/min'] }, or nothing"
  throw planError(`planOf gave ${show(given)}, expected ${expected}`)
}

export function planError(message: string, options?: ErrorOptions): TollgateError {
  return new TollgateError('ERR_TOLLGATE_PLAN', message, options)
}

export function planErrorOf(thrown: unknown): TollgateError {
  return isA(thrown, TollgateError)
    ? thrown
    : planError(`planOf failed: ${thrownText(thrown)}`, { cause: thrown })
}
