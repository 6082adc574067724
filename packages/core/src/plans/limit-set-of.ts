import { compileLimits, type LimitSet } from './limit-set.js'
import { parseLimit, type LimitInput } from './limit.js'

export type { LimitInput }

/**
 * Limits as stores are asked for them, from how a user writes them: `limitSetOf('5/min', '100/h')`.
 *
 * @throws {ConfigError} when one of them is not a limit that can hold
 */
export function limitSetOf(...limits: readonly LimitInput[]): LimitSet {
  return compileLimits(limits.map((limit, i) => parseLimit(limit, `limits[${i}]`)))
}
