import { ConfigError } from '../base/errors.js'
import type { LimitInput } from '../plans/limit.js'
import { isOptions, needOptions } from '../base/option-checks.js'
import { compilePlan, type Plan } from '../plans/plan.js'

/** Where in an application limits are counted, such as a route or a group of routes. */
export interface ScopeOptions {
  /**
   * Counts the plan's limits apart from everywhere else, in counters of this name: routes of one group share them.
   * 1 to 32 letters, digits or `_.-`. A part of the application, not of a request: the limiter remembers each name for
   * good, since `reset` forgets a subject in all of them.
   */
  readonly group?: string
  /** The limits of this group, in place of the plan's. */
  readonly limit?: LimitInput | readonly LimitInput[]
  /**
   * More limits of who pays, held together with the plan's, by the name of counters of their own:
   * `{ export: '5/min' }`. All must have room, or nothing is taken.
   */
  readonly stacked?: Readonly<Record<string, LimitInput | readonly LimitInput[]>>
}

export const SCOPE_OPTIONS: readonly string[] = ['group', 'limit', 'stacked']

/** A limit set with counters of its own. */
export interface Stacked {
  readonly plan: Plan
  /** What its keys end with. */
  readonly suffix: string
}

export interface Scope {
  /** What the keys of its counters end with: empty for the application's common ones. */
  readonly suffix: string
  /** In place of the subject's own plan. */
  readonly plan: Plan | undefined
  readonly stacked: readonly Stacked[]
}

export const COMMON: Scope = { suffix: '', plan: undefined, stacked: [] }

/**
 * Checks where limits are counted and compiles it.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function compileScope(options: ScopeOptions): Scope {
  needOptions(options, SCOPE_OPTIONS, 'scope')
  const { group, limit, stacked = {} } = options
  if (group !== undefined) needName('group', group)
  if (limit !== undefined && group === undefined) {
    throw new ConfigError('group', group, 'a name for the counters of `limit`')
  }
  if (!isOptions(stacked))
    throw new ConfigError('stacked', stacked, "limits by name, such as { export: '5/min' }")
  return {
    suffix: group === undefined ? '' : `*${group}`,
    plan: limit === undefined ? undefined : compilePlan(group as string, limit, 'limit'),
    stacked: Object.entries(stacked).map(([name, input]) => {
      needName(`stacked[${JSON.stringify(name)}]`, name)
      return { plan: compilePlan(name, input, `stacked.${name}`), suffix: `!${name}` }
    }),
  }
}

function needName(path: string, given: unknown): void {
  if (typeof given === 'string' && /^[\w.-]{1,32}$/.test(given)) return
  throw new ConfigError(path, given, 'a name of 1 to 32 letters, digits or _.-')
}
