import { ConfigError } from '../base/errors.js'
import { needOptions } from '../base/option-checks.js'
import type { LeaseTerms } from './limit-set.js'
import type { Limit } from './limit.js'

export interface LeaseOptions {
  /** The longest that a lease lasts, in ms: from 10 to 1000. Default: 500. A short window makes leases shorter. */
  readonly maxMs?: number
  /** The most of the units left that one process may take at a time: above 0, at most 1. Default: 0.25. */
  readonly maxShare?: number
  /**
   * `exact`, the default: no window holds more than without leases. `smooth`: a window can hold what was on lease when it
   * began, too; leases are not shortened for short windows.
   */
  readonly mode?: 'exact' | 'smooth'
}

/** `true` for the defaults. */
export type LeaseOption = boolean | LeaseOptions

const MAX_MS = 500
const MAX_SHARE = 0.25
/** Of a window: units count as used up to one lease later than they were. */
const PART_OF_WINDOW = 64

/** @throws {ConfigError} when an option is wrong, or these limits cannot be leased */
export function compileLease(
  given: LeaseOption | undefined,
  limits: readonly Limit[],
  path: string,
): LeaseTerms | undefined {
  if (given === undefined || given === false) return undefined
  if (given !== true) needOptions(given, ['maxMs', 'maxShare', 'mode'], path)
  const { maxMs = MAX_MS, maxShare = MAX_SHARE, mode = 'exact' } = given === true ? {} : given
  if (!(Number.isInteger(maxMs) && maxMs >= 10 && maxMs <= 1000)) {
    throw ConfigError.wrong(`${path}.maxMs`, maxMs, 'a whole number of ms from 10 to 1000')
  }
  if (!(typeof maxShare === 'number' && maxShare > 0 && maxShare <= 1)) {
    throw ConfigError.wrong(`${path}.maxShare`, maxShare, 'a number above 0, at most 1, such as 0.25')
  }
  if (mode === 'smooth') return { lengthUs: maxMs * 1000, share: maxShare, lagUs: maxMs * 1000 }
  const windows = limits.filter(({ compiled }) => compiled.algorithm !== 'token-bucket')
  const shortest = Math.min(...windows.map(({ windowMs }) => Math.floor((windowMs * 1000) / PART_OF_WINDOW)))
  return { lengthUs: Math.min(maxMs * 1000, shortest), share: maxShare, lagUs: 0 }
}
