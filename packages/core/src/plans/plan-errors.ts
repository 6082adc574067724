import { ConfigError, show } from '../base/errors.js'
import { nearestOf } from '../base/options.js'
import type { Plan } from './plan.js'
import type { PlanOptions } from './plans.js'

const NO_LIMIT = "for no limit at all write plans: { free: '100/min', internal: 'unlimited' }"

export function noLimits({ plans, limit }: PlanOptions): ConfigError {
  if (limit !== undefined) {
    const isBlocked = [0, '0', 'blocked'].includes(limit as string)
    const remedy = isBlocked
      ? "to let nobody in write plans: { free: '100/min', suspended: 'blocked' }"
      : NO_LIMIT
    return ConfigError.wrong('limit', limit, `a limit such as '100/min'; ${remedy}`)
  }
  return ConfigError.wrong('plans', plans, "at least one plan with limits, such as free: '100/min'")
}

export function defaultOfOne(): ConfigError {
  const problem = '`defaultPlan` cannot be combined with `limit`, which is the only plan: leave it out'
  return new ConfigError('defaultPlan', problem)
}

/** An error lists at most this many names. */
const MOST_LISTED = 6

export function notADefault(given: unknown, limited: readonly Plan[]): ConfigError {
  const names = limited.map(({ name }) => name)
  const meant = typeof given === 'string' ? nearestOf(given, names) : undefined
  const shown = names.slice(0, MOST_LISTED).map(show)
  const some = shown.length < names.length ? `${shown.join(', ')}, ...` : shown.join(', ')
  const expected = meant === undefined ? `the name of a plan that has limits: ${some}` : show(meant)
  return ConfigError.wrong('defaultPlan', given, expected)
}

export const SOME_PLANS = "{ free: '100/min', pro: '1000/min' }"

/**
 * An option that is present but undefined most likely comes from a missing setting, such as an environment variable.
 */
export function nothingGiven(options: PlanOptions): ConfigError {
  if ('plans' in options) return ConfigError.wrong('plans', undefined, `plans by name, such as ${SOME_PLANS}`)
  if ('limit' in options) return ConfigError.wrong('limit', undefined, `'100/min', or plans: ${SOME_PLANS}`)
  return new ConfigError('', `no limit was given: write limit: '100/min', or plans: ${SOME_PLANS}`)
}
