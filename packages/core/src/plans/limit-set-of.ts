import { compileLease, leasesSaidBy } from './lease-option.js'
import { needOneConcurrent } from './concurrent-limit.js'
import { limitSet, slotsLast, type LimitSet } from './limit-set.js'
import { parseLimit, type LimitInput } from './limit.js'

export type { LimitInput }

/**
 * Compiles limits, as users write them, to the form that stores get: `limitSetOf('5/min', '100/h')`.
 *
 * @throws {ConfigError} when one of them is not a valid limit
 */
export function limitSetOf(...limits: readonly LimitInput[]): LimitSet {
  const given = limits.map((limit, i) => parseLimit(limit, `limits[${i}]`))
  needOneConcurrent(given, 'limits')
  const parsed = slotsLast(given)
  return limitSet(parsed, { lease: compileLease(leasesSaidBy(limits, 'limits'), parsed) })
}
