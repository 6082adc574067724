import { givenOf, needOptions, type Given } from '../../base/options.js'
import { ConfigError } from '../../base/errors.js'

/** How answers of `planOf` are remembered. */
export interface PlanCacheOptions {
  /** How long an answer is used without asking again, in ms. Default: 60 000. */
  readonly ttlMs?: number | undefined
  /** How much longer an answer is used while a new one is looked up in the background, in ms. Default: 3 600 000. */
  readonly staleMs?: number | undefined
  /** The most subjects whose answers are remembered; the one unused longest is forgotten first. Default: 10 000. */
  readonly maxSubjects?: number | undefined
  /** How long a request waits for a look-up, in ms. Default: 1000. */
  readonly deadlineMs?: number | undefined
}

const DEFAULTS = { ttlMs: 60_000, staleMs: 3_600_000, maxSubjects: 10_000, deadlineMs: 1000 }

const LIMITS = {
  ttlMs: [0, 86_400_000],
  staleMs: [0, 86_400_000],
  maxSubjects: [1, 1e7],
  deadlineMs: [1, 60_000],
}

export function readCacheOptions(options: PlanCacheOptions): Required<Given<PlanCacheOptions>> {
  needOptions(options, Object.keys(DEFAULTS), 'planCache')
  const all = { ...DEFAULTS, ...givenOf(options) }
  for (const [name, [least, most]] of Object.entries(LIMITS) as [keyof typeof LIMITS, [number, number]][]) {
    const value = all[name]
    if (Number.isInteger(value) && value >= least && value <= most) continue
    throw ConfigError.wrong(
      `planCache.${name}`,
      value,
      `a whole number from ${least} to ${most}, such as ${DEFAULTS[name]}`,
    )
  }
  return all
}
