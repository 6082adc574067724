import { isWhole } from '../base/options.js'
import { show, TollgateError } from '../base/errors.js'
import { quiet } from '../base/promises.js'

/**
 * @param ofNothing what to type in place of a cost of 0, where that is known
 * @throws {TollgateError} ERR_TOLLGATE_COST when it is not a whole number of units from `least`
 */
export function needCost(cost: number, least: 0 | 1, ofNothing = ''): void {
  if (isWhole(cost, least)) return
  quiet(cost)
  const remedy = cost === 0 ? ofNothing : ''
  throw new TollgateError(
    'ERR_TOLLGATE_COST',
    `cost: got ${show(cost)}, expected a whole number of units from ${least}${remedy}`,
  )
}

/** @throws {TollgateError} ERR_TOLLGATE_COST when it is not a whole number of units from 1 */
export function needUnitsBack(units: unknown): void {
  if (isWhole(units, 1)) return
  quiet(units)
  const expected = 'a whole number of units from 1, such as refund(subject, 2)'
  throw new TollgateError('ERR_TOLLGATE_COST', `units: got ${show(units)}, expected ${expected}`)
}

/** For options of HTTP, which have `skip`. */
export const USE_SKIP = '; to let a request pass uncounted use skip: (req) => ...'
