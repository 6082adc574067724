import { show, TollgateError } from '../base/errors.js'
import { quiet } from '../base/quiet.js'

/** @throws {TollgateError} ERR_TOLLGATE_COST when it is not a whole number of units from `least` */
export function needCost(cost: number, least: 0 | 1): void {
  if (Number.isSafeInteger(cost) && cost >= least) return
  quiet(cost)
  throw new TollgateError(
    'ERR_TOLLGATE_COST',
    `cost: got ${show(cost)}, expected a whole number of units from ${least}`,
  )
}
