import { ConfigError } from '../../base/errors.js'
import { needBoolean } from '../../base/options.js'
import type { CompiledLimit } from './limit-set.js'
import type { Limit, LimitOptions } from './limit.js'

/** Whether a limit denies what does not fit it. Limits that observe or count overage let everything pass. */
export function isDenying({ observes, overage }: Pick<CompiledLimit, 'observes' | 'overage'>): boolean {
  return !observes && !overage
}

/** @throws {ConfigError} when it is no boolean, or the limit itself observes: it then would not count what exceeds it */
export function readOverage({ overage = false, mode }: LimitOptions, path: string): boolean {
  needBoolean(`${path}.overage`, overage)
  if (!overage || mode !== 'observe') return overage
  const problem = "got true, but a limit with mode: 'observe' does not count what exceeds it"
  throw new ConfigError(
    `${path}.overage`,
    `${problem}: leave out overage to try the limit, or mode to bill for it`,
  )
}

/**
 * The same limit, which counts what exceeds its quota and lets it pass. It does so in the mode `observe`, too. What it counted is kept for one
 * more window, to be billed.
 */
export function withOverage(limit: Limit): Limit {
  const ttlMs = 2 * limit.compiled.ttlMs
  return { ...limit, compiled: { ...limit.compiled, ttlMs, overage: true }, overage: true }
}
