import { compilePlan, type Plan, type PlanInput } from './plan.js'
import type { LimitInput } from './limit.js'
import { ConfigError } from '../base/errors.js'
import { copyInput, isSameInput } from './same-input.js'

/** Plans by name: `{ free: '100/min', pro: ['50/s burst 100', '5000000/month'], internal: 'unlimited' }`. */
export type PlansInput = Readonly<Record<string, PlanInput>>

/** The plans of a limiter: either `plans`, or `limit` for a single plan. */
export interface PlanOptions {
  readonly plans?: PlansInput
  /** The limits of the only plan; its name is `default`. */
  readonly limit?: LimitInput | readonly LimitInput[]
  /**
   * The plan of subjects that name none, or one that does not exist. Default: the only plan with limits, else the most
   * restrictive one.
   */
  readonly defaultPlan?: string
}

/** The plans of a limiter. */
export interface Plans {
  readonly byName: ReadonlyMap<string, Plan>
  /** Copies of the inputs that the plans were compiled from. */
  readonly inputs: ReadonlyMap<string, unknown>
  /** The plan for subjects without a known plan; never unlimited. */
  readonly fallback: Plan
  /** Whether the fallback was chosen by the user, or is the only plan with limits. */
  readonly hasDefault: boolean
}

/**
 * Checks plans and compiles them.
 *
 * @param defaultPlan replaces `options.defaultPlan`
 * @param known the previous plans. A plan with the same input stays the same object with the same serial, so that
 *              adding one plan to thousands costs only that one
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

/** The plan with the lowest sustained rate. */
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
