import { ConfigError } from '../../base/errors.js'
import { isUnits } from '../../base/options.js'
import type { CompiledLimit } from './limit-set.js'
import type { Limit } from './limit.js'

/** `enforce`: what does not fit is denied. `observe`: it passes, and takes nothing from the limit. */
export type LimitMode = 'enforce' | 'observe'

/** @throws {ConfigError} when it is no mode */
export function needMode(given: unknown, path: string): LimitMode {
  if (given === 'enforce' || given === 'observe') return given
  throw ConfigError.wrong(path, given, "'enforce', or 'observe' to deny nothing")
}

/** @throws {ConfigError} when it is no mode */
export function modeOf(
  given: unknown,
  path: string,
  { mode = 'enforce' }: { readonly mode?: LimitMode | undefined },
): LimitMode {
  return given === undefined ? mode : needMode(given, `${path}.mode`)
}

export function inMode(limit: Limit, mode: LimitMode): Limit {
  if (mode === 'enforce') return limit
  return { ...limit, compiled: { ...limit.compiled, observes: true }, observes: true }
}

/** @throws {ConfigError} when it would observe nothing that the limit does not deny, too */
export function needWatch(given: unknown, quota: number, path: string): asserts given is number {
  if (isUnits(given) && given < quota) return
  const such = Math.max(Math.round(quota * 0.6), 1)
  throw ConfigError.wrong(path, given, `a whole number of units below the quota of ${quota}, such as ${such}`)
}

/** Separates the units of a limit that observes from those of the limit beside it: the highest bit of a state id. */
const WATCHED = 2 ** 31

/** @param lower the limit with the watched quota */
export function toWatched(lower: Limit): Limit {
  return inMode({ ...lower, name: `${lower.name}-watch`, compiled: apart(lower.compiled) }, 'observe')
}

/** The same limit, whose units are kept apart from those of the limits that deny. */
export function apart(limit: CompiledLimit): CompiledLimit {
  const { stateId, otherId } = limit
  if (stateId >= WATCHED) return limit
  return { ...limit, stateId: stateId + WATCHED, otherId: otherId && otherId + WATCHED }
}

/** The limits, and behind each the one that is watched beside it. */
export function withWatched(limits: readonly Limit[]): readonly Limit[] {
  return limits.flatMap((limit) => (limit.watched ? [limit, limit.watched] : [limit]))
}
