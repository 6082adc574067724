import { compilePlan, type Plan, type PlanInput } from './plan.js'
import type { LimitInput } from './limit.js'
import { ConfigError } from '../base/errors.js'
import { copyInput, isSameInput } from './same-input.js'

/** Plans by name: `{ free: '100/min', pro: ['50/s burst 100', '5000000/month'], internal: 'unlimited' }`. */
export type PlansInput = Readonly<Record<string, PlanInput>>

/** How plans are given to a limiter: `plans`, or `limit` as the one plan there is. */
export interface PlanOptions {
  readonly plans?: PlansInput
  /** The limits of the only plan, which is called `default`. */
  readonly limit?: LimitInput | readonly LimitInput[]
  /**
   * The plan of subjects that have none, or one that does not exist. Default: the only plan that has limits; with
   * several, the most restrictive of them.
   */
  readonly defaultPlan?: string
}

/** The plans of a limiter. */
export interface Plans {
  readonly byName: ReadonlyMap<string, Plan>
  /** Copies of what they were compiled from. */
  readonly inputs: ReadonlyMap<string, unknown>
  /** What a subject without a known plan gets: never unlimited. */
  readonly fallback: Plan
  /** Whether the fallback was chosen by the user, or is the only one there could be. */
  readonly hasDefault: boolean
}

/**
 * Checks plans and compiles them.
 *
 * @param defaultPlan in place of theirs
 * @param known the plans until now: those whose input is the same stay the same objects, with the same serial, so
 *              that one plan more among thousands costs what one plan costs
 * @throws {ConfigError} when a limit, a plan or the default plan is wrong
 */
export function compilePlans(options: PlanOptions, defaultPlan = options.defaultPlan, known?: Plans): Plans {
  const { byName, inputs } = compileEach(options, known)
  const limited = [...byName.values()].filter((plan) => plan.limits.length > 0)
  if (limited.length === 0 && options.limit !== undefined) {
    throw ConfigError.wrong('limit', options.limit, "a limit, such as '100/min': it is that of the only plan")
  }
  if (limited.length === 0) {
    throw ConfigError.wrong(
      'plans',
      options.plans,
      "at least one plan with limits, such as { free: '100/min' }",
    )
  }
  if (defaultPlan === undefined) {
    return { byName, inputs, fallback: mostRestrictive(limited), hasDefault: limited.length === 1 }
  }
  const fallback = byName.get(defaultPlan)
  if (fallback && fallback.limits.length > 0) return { byName, inputs, fallback, hasDefault: true }
  const names = limited.map((plan) => plan.name).join(', ')
  throw ConfigError.wrong('defaultPlan', defaultPlan, `a plan with limits: ${names}`)
}

function compileEach(options: PlanOptions, known: Plans | undefined): Pick<Plans, 'byName' | 'inputs'> {
  const byName = new Map<string, Plan>()
  const inputs = new Map<string, unknown>()
  for (const [name, input] of planInputs(options)) {
    const plan = known?.byName.get(name)
    const kept = known?.inputs.get(name)
    const isKept = plan !== undefined && isSameInput(kept, input)
    byName.set(name, isKept ? plan : compilePlan(name, input, options.plans ? pathOf(name) : 'limit'))
    inputs.set(name, isKept ? kept : copyInput(input))
  }
  return { byName, inputs }
}

function planInputs({ plans, limit }: PlanOptions): [name: string, input: unknown][] {
  if (plans !== undefined && limit !== undefined) {
    throw ConfigError.wrong('limit', limit, 'none when there are plans')
  }
  if (limit !== undefined) return [['default', limit]]
  if (
    typeof plans !== 'object' ||
    plans === null ||
    Array.isArray(plans) ||
    Object.keys(plans).length === 0
  ) {
    throw ConfigError.wrong(
      'plans',
      plans,
      "an object of plans, such as { free: '100/min', internal: 'unlimited' }",
    )
  }
  return Object.entries(plans)
}

function pathOf(name: string): string {
  return /^[\w$]+$/.test(name) ? `plans.${name}` : `plans[${JSON.stringify(name)}]`
}

/** The plan that lets the fewest requests through in the long run. */
function mostRestrictive(plans: readonly Plan[]): Plan {
  let [least] = plans as [Plan, ...Plan[]]
  let rate = sustained(least)
  for (const plan of plans) {
    const its = sustained(plan)
    if (its < rate) [least, rate] = [plan, its]
  }
  return least
}

function sustained(plan: Plan): number {
  return Math.min(...plan.limits.map(({ quota, windowMs }) => quota / windowMs))
}
