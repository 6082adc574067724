import { ConfigError, show } from '../base/errors.js'
import type { LimitDefaults, LimitInput } from '../plans/limit/limit.js'
import { isOptions, needOptions } from '../base/options.js'
import { compilePlan, type Plan } from '../plans/plan.js'
import type { BlockingLimits } from '../plans/options/block-option.js'
import { pathIn } from '../base/show.js'

/** Where in an application requests are counted, such as a route or a group of routes. */
export interface ScopeOptions {
  /**
   * Counts the plan's limits in separate counters with this name, which all routes of the group share. 1 to 32 letters,
   * digits or `_.-`. Name a part of the application, never something from a request: the limiter remembers each name for
   * good, because `reset` must forget a subject in all groups.
   */
  readonly group?: string | undefined
  /** The limits of this group, instead of the plan's. Give the same ones wherever you name the group. */
  readonly limit?: LimitInput | readonly LimitInput[] | BlockingLimits | undefined
  /**
   * Limits on top of the plan, by name, with their own counters: `{ export: '5/min' }`. They count against the subject that
   * pays. All limits must have room, or nothing is taken. Give a name the same limit wherever you use it.
   */
  readonly stacked?: Readonly<Record<string, LimitInput | readonly LimitInput[] | BlockingLimits>> | undefined
}

export const SCOPE_OPTIONS: readonly string[] = ['group', 'limit', 'stacked']

/** Separate counters for some limits. */
export interface Counters {
  /** The end of their keys; empty for the common counters of the application. */
  readonly suffix: string
  /** The plan to apply instead of the subject's own. */
  readonly plan: Plan | undefined
  /** For errors: where the user named the counters, the name, and the limit that was given. */
  readonly path: string
  readonly name: string | undefined
  readonly limit: unknown
}

export interface Stacked extends Counters {
  readonly plan: Plan
}

export interface Scope extends Counters {
  readonly stacked: readonly Stacked[]
  /** Rules that block do not apply: units go back, or what stands behind such a block is looked at. */
  readonly ignoresBlocks?: true
}

export const COMMON: Scope = compileScope({})

/**
 * Checks and compiles a scope.
 *
 * @param defaults as in parseLimit
 * @throws {ConfigError} when an option is wrong
 */
export function compileScope(options: ScopeOptions, defaults?: LimitDefaults): Scope {
  needOptions(options, SCOPE_OPTIONS, 'scope')
  const { group, limit, stacked = {} } = options
  if (group !== undefined) needName('group', group)
  if (limit !== undefined && group === undefined) {
    const remedy = "such as group: 'search'; a limit for everyone goes to createLimiter({ limit })"
    throw new ConfigError('group', `a \`limit\` here needs a name for its counters, ${remedy}`)
  }
  if (!isOptions(stacked))
    throw ConfigError.wrong('stacked', stacked, "limits by name, such as { export: '5/min' }")
  return {
    suffix: group === undefined ? '' : `*${group}`,
    path: limit === undefined ? 'group' : 'limit',
    name: group,
    limit,
    plan: limit === undefined ? undefined : compileLimits(group as string, limit, 'limit', defaults),
    stacked: Object.entries(stacked).map(([name, input]) => {
      const path = pathIn('stacked', name)
      needName(path, name)
      return {
        plan: compileLimits(name, input, path, defaults),
        suffix: `!${name}`,
        path,
        name,
        limit: input,
      }
    }),
  }
}

/** Puts a scope on top of another: its stacked limits are added, and its group counts instead. */
export function onTopOf(outer: Scope, own: Scope): Scope {
  const names = outer.stacked.map(({ name }) => name)
  const added = own.stacked.filter(({ name }) => !names.includes(name))
  const isGroup = own.name !== undefined && own.name !== outer.name
  if (!isGroup && added.length === 0) return outer
  return { ...(isGroup ? own : outer), stacked: [...outer.stacked, ...added] }
}

/** Refuses `blocked` and `wait`, which are for a subject's plan and not for a part of the application. */
function compileLimits(
  name: string,
  input: unknown,
  path: string,
  defaults: LimitDefaults | undefined,
): Plan {
  const plan = compilePlan(name, input, path, defaults)
  if (plan.set?.wait) {
    const remedy =
      "leave it out here, and write it on the plan: plans: { batch: { limits, wait: { maxDelay: '2s' } } }"
    throw new ConfigError(`${path}.wait`, `requests wait by their subject's plan, also in groups: ${remedy}`)
  }
  if (!plan.isBlocked) return plan
  throw ConfigError.wrong(path, 'blocked', "a limit; 'blocked' is a plan: plans: { suspended: 'blocked' }")
}

/**
 * Refuses counters that exist already with other limits: each place would misread the other's counts, and neither limit
 * would hold.
 *
 * @param known the counters of the same name
 * @throws {ConfigError}
 */
export function needSameLimit({ path, name, limit, plan }: Counters, known: Counters): void {
  if (countsOf(plan) === countsOf(known.plan)) return
  const has = known.limit === undefined ? "the plan's limits" : show(known.limit)
  const what = path.startsWith('stacked') ? 'stacked limit' : 'group'
  const mine = limit === undefined ? "the plan's limits" : show(limit)
  const problem = `got ${mine}, but the ${what} ${show(name)} of this limiter has ${has} already`
  throw new ConfigError(path, `${problem}: write the same here, or take another name`)
}

/** A text that is equal for limits that count in the same way, whatever their notation or name. */
function countsOf(plan: Plan | undefined): string {
  if (!plan) return ''
  const counts = plan.set?.limits.map(({ stateId, paramsAt, observes, overage }) => [
    ...[stateId, paramsAt(0), observes, overage],
  ])
  return JSON.stringify([counts ?? [], plan.set?.lease, plan.set?.wait, plan.set?.blockAfter])
}

/** @throws {ConfigError} when it cannot be part of a key */
export function needName(path: string, given: unknown): void {
  if (typeof given === 'string' && /^[\w.-]{1,32}$/.test(given)) return
  throw ConfigError.wrong(path, given, "a name of 1 to 32 letters, digits or _.-, such as 'search'")
}
