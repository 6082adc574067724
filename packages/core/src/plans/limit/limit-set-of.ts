import { atCaller } from '../../base/errors.js'
import { compileLease, leasesSaidBy } from '../options/lease-option.js'
import { needOneConcurrent } from './concurrent-limit.js'
import { limitSet, slotsLast, type LimitSet } from './limit-set.js'
import { parseLimit, type Algorithm, type LimitInput } from './limit.js'

export type { LimitInput }

/**
 * Compiles limits, as users write them, to the form that stores get: `limitSetOf('5/min', '100/h')`.
 *
 * @throws {ConfigError} when one of them is not a valid limit
 */
export function limitSetOf(...limits: readonly LimitInput[]): LimitSet {
  return atCaller(limitSetOf, () => compileEach(limits))
}

/**
 * As limitSetOf, for a store: limits that name no algorithm are counted by its `defaultAlgorithm`, as a limiter on it
 * does. Whether the store can count them is not checked: see unsupportedBy.
 *
 * @throws {ConfigError} when one of them is not a valid limit
 */
export function limitSetFor(
  { defaultAlgorithm }: { readonly defaultAlgorithm?: Algorithm | undefined },
  ...limits: readonly LimitInput[]
): LimitSet {
  return atCaller(limitSetFor, () => compileEach(limits, defaultAlgorithm))
}

function compileEach(limits: readonly LimitInput[], defaultAlgorithm?: Algorithm): LimitSet {
  const given = limits.map((limit, i) => parseLimit(limit, `limits[${i}]`, defaultAlgorithm))
  needOneConcurrent(given, 'limits')
  const parsed = slotsLast(given)
  return limitSet(parsed, { lease: compileLease(leasesSaidBy(limits, 'limits'), parsed) })
}
