import { implementations } from '../algorithms/registry.js'
import { ConfigError } from '../base/errors.js'
import { expectedName, isOptions } from '../base/options.js'
import { isDeepStrictEqual } from '../base/platform.js'
import { pathIn } from '../base/show.js'
import { meansNoLimit } from './limit/meant-limit.js'
import { isDenying } from './limit/overage-limit.js'
import { burstOf, type Limit, type LimitDefaults, type LimitInput } from './limit/limit.js'
import { OWN_LIMITS } from './own-limits.js'
import { compilePlan, type Plan, type PlanInput } from './plan.js'

/** Plans by name: `{ free: '100/min', pro: ['50/s burst 100', '5000000/month'], internal: 'unlimited' }`. */
export type PlansInput<Names extends string = string> = Readonly<Record<Names, PlanInput>>

/** The plans of a limiter: either `plans`, or `limit` for a single plan. */
export interface PlanOptions<Names extends string = string> {
  /**
   * Plans by name. Each is one limit, several that all hold at once, `'unlimited'`, or `'blocked'`, which denies every request
   * with 403.
   *
   * @example
   * plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'], staff: 'unlimited', suspended: 'blocked' }
   */
  readonly plans?: PlansInput<Names> | undefined
  /** The limits of a single plan, which is named `default`. */
  readonly limit?: LimitInput | readonly LimitInput[] | undefined
  /**
   * The plan for subjects that name none, or one that does not exist. Default: the only plan with limits, else the most
   * restrictive one.
   */
  readonly defaultPlan?: NoInfer<Names> | undefined
}

/** The plans of a limiter. */
export interface Plans {
  readonly byName: ReadonlyMap<string, Plan>
  /** Copies of the inputs that the plans were compiled from. */
  readonly inputs: ReadonlyMap<string, unknown>
  /** The plan for subjects without a known plan: never unlimited, never blocked. Undefined if there are no plans. */
  readonly fallback: Plan | undefined
  /** Whether there is a plan whose subjects are denied. */
  readonly canBlock: boolean
  /** Whether there is a plan whose requests can wait in line. */
  readonly canWait: boolean
  /** Whether the fallback was chosen by the user, or is the only plan with limits. */
  readonly hasDefault: boolean
}

/** What compiling plans depends on besides the user's options. */
export interface PlanTerms {
  /** Replaces `options.defaultPlan`. */
  readonly defaultPlan?: string | undefined
  /**
   * The previous plans. A plan with the same input stays the same object with the same serial, so that adding one plan to
   * thousands costs only that one.
   */
  readonly known?: Plans | undefined
  /** Whether there may be no plans, since all subjects bring limits. */
  readonly isWithoutPlans?: boolean | undefined
  /** As in parseLimit. The same as for the previous plans. */
  readonly defaults?: LimitDefaults | undefined
}

/**
 * Checks plans and compiles them.
 *
 * @throws {ConfigError} when a limit, a plan or the default plan is wrong
 */
export function compilePlans(options: PlanOptions, terms: PlanTerms = {}): Plans {
  const { defaultPlan = options.defaultPlan } = terms
  if (terms.isWithoutPlans) return withoutPlans(defaultPlan)
  const { byName, inputs } = compileEach(options, terms)
  const all = [...byName.values()]
  const limited = all.filter((plan) => plan.limits.length > 0)
  if (limited.length === 0) throw noLimits(options)
  const canWait = all.some((plan) => plan.set?.wait)
  const plans = { byName, inputs, canBlock: all.some((plan) => plan.isBlocked), canWait }
  if (defaultPlan === undefined) {
    return { ...plans, fallback: mostRestrictive(limited), hasDefault: limited.length === 1 }
  }
  const fallback = byName.get(defaultPlan)
  if (fallback && fallback.limits.length > 0) return { ...plans, fallback, hasDefault: true }
  if (options.limit !== undefined) throw defaultOfOne()
  throw notADefault(defaultPlan, limited)
}

function withoutPlans(defaultPlan: string | undefined): Plans {
  if (defaultPlan !== undefined) throw new ConfigError('defaultPlan', 'there are no plans: add plans')
  const none = { byName: new Map(), inputs: new Map(), fallback: undefined }
  return { ...none, canBlock: false, canWait: false, hasDefault: true }
}

function compileEach(options: PlanOptions, { known, defaults }: PlanTerms): Pick<Plans, 'byName' | 'inputs'> {
  const byName = new Map<string, Plan>()
  const inputs = new Map<string, unknown>()
  for (const [name, input] of planInputs(options)) {
    const plan = known?.byName.get(name)
    const kept = known?.inputs.get(name)
    const isKept = plan !== undefined && isDeepStrictEqual(kept, input)
    const path = options.plans ? pathIn('plans', name) : 'limit'
    byName.set(name, isKept ? plan : compilePlan(name, input, path, defaults))
    inputs.set(name, isKept ? kept : copyInput(input))
  }
  return { byName, inputs }
}

/** @throws {ConfigError} when it is not an object of plans */
export function needPlans(plans: unknown): asserts plans is PlansInput {
  if (!isOptions(plans) || Object.keys(plans).length === 0) {
    throw ConfigError.wrong('plans', plans, `plans by name, such as ${SOME_PLANS}`)
  }
  const { plans: inner } = plans as { readonly plans?: unknown }
  if (!isOptions(inner) || ['limits', 'limit', 'quota', 'concurrent', 'window'].some((name) => name in inner))
    return
  const second =
    'defaultPlan' in plans ? '; setPlans takes the default plan as its second argument: { defaultPlan }' : ''
  const expected = `the plans themselves, one level up: ${SOME_PLANS}${second}`
  throw ConfigError.wrong('plans.plans', inner, expected)
}

function planInputs(options: PlanOptions): [name: string, input: unknown][] {
  const { plans, limit } = options
  if (plans !== undefined && limit !== undefined) {
    throw new ConfigError('limit', '`limit` cannot be combined with `plans`: make it a plan, or leave it out')
  }
  if (limit !== undefined && meansNoLimit(limit)) throw noLimits(options)
  if (limit !== undefined) return [['default', limit]]
  if (plans === undefined) throw nothingGiven(options)
  needPlans(plans)
  if (Object.hasOwn(plans, OWN_LIMITS)) {
    const problem = 'this name is reserved for subjects with limits of their own: choose another for the plan'
    throw new ConfigError(pathIn('plans', OWN_LIMITS), problem)
  }
  return Object.entries(plans)
}

/**
 * The plan with the lowest sustained rate. Among equal rates, the one with the fewest requests in flight. A plan without a
 * rate lets any number of short requests pass, so it is less restrictive than any plan with one.
 */
function mostRestrictive(plans: readonly Plan[]): Plan {
  let [least] = plans as [Plan, ...Plan[]]
  for (const plan of plans) if (isTighter(plan, least)) least = plan
  return least
}

function isTighter(plan: Plan, other: Plan): boolean {
  const rate = sustained(plan)
  const its = sustained(other)
  return rate === its ? atATime(plan) < atATime(other) : rate < its
}

function sustained({ limits }: Plan): number {
  const denying = limits.filter(isDenying)
  return Math.min(...denying.map(({ quota, windowMs }) => (windowMs > 0 ? quota / windowMs : Infinity)))
}

function atATime({ limits }: Plan): number {
  return Math.min(...limits.map(({ quota, windowMs }) => (windowMs > 0 ? Infinity : quota)))
}

const NO_LIMIT = "for no limit at all write plans: { free: '100/min', internal: 'unlimited' }"

function noLimits({ plans, limit }: PlanOptions): ConfigError {
  if (limit !== undefined) {
    const isBlocked = [0, '0', 'blocked'].includes(limit as string)
    const remedy = isBlocked
      ? "to deny all requests write plans: { free: '100/min', suspended: 'blocked' }"
      : NO_LIMIT
    return ConfigError.wrong('limit', limit, `a limit such as '100/min'; ${remedy}`)
  }
  return ConfigError.wrong('plans', plans, "at least one plan with limits, such as free: '100/min'")
}

function defaultOfOne(): ConfigError {
  const problem = '`defaultPlan` cannot be combined with `limit`, which is the only plan: leave it out'
  return new ConfigError('defaultPlan', problem)
}

function notADefault(given: unknown, limited: readonly Plan[]): ConfigError {
  const names = limited.map(({ name }) => name)
  return ConfigError.wrong(
    'defaultPlan',
    given,
    expectedName(given, names, 'the name of a plan that has limits'),
  )
}

const SOME_PLANS = "{ free: '100/min', pro: '1000/min' }"

/**
 * An option that is present but undefined most likely comes from a missing setting, such as an environment variable.
 */
function nothingGiven(options: PlanOptions): ConfigError {
  if ('plans' in options) return ConfigError.wrong('plans', undefined, `plans by name, such as ${SOME_PLANS}`)
  if ('limit' in options) return ConfigError.wrong('limit', undefined, `'100/min', or plans: ${SOME_PLANS}`)
  return new ConfigError('', `no limit was given: write limit: '100/min', or plans: ${SOME_PLANS}`)
}

/** Copies a user's input for a plan, so that the user can change the original. */
export function copyInput(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  if (given instanceof Date) return new Date(given)
  if (Array.isArray(given)) return given.map(copyInput)
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, copyInput(value)]))
}

/** A plan, for people. */
export interface KnownPlan {
  readonly name: string
  /** Whether subjects without a plan get it. */
  readonly isDefault: boolean
  /** Those that can deny. */
  readonly limits: readonly KnownLimit[]
}

interface KnownLimit {
  readonly name: string
  readonly quota: number
  readonly quotaUnit?: 'concurrent-requests'
  readonly windowMs: number
  /** Whether its windows begin and end, so that it can have top-ups. */
  readonly hasWindows: boolean
  /** Units that can be taken at once, where that is not the quota. */
  readonly burst?: number
  /** Set if it lets pass, and counts what is beyond the quota. */
  readonly overage?: true
}

/** The plans, in the order they were given. */
export function knownPlans({ byName, fallback, hasDefault }: Plans): readonly KnownPlan[] {
  const known = (limit: Limit): KnownLimit => {
    const { name, quota, windowMs, overage, compiled } = limit
    const burst = burstOf(limit)
    return {
      ...{ name, quota, windowMs, hasWindows: !!implementations[compiled.algorithm].over },
      ...(windowMs === 0 && { quotaUnit: 'concurrent-requests' }),
      ...(burst !== undefined && burst !== quota && { burst }),
      ...(overage && { overage }),
    }
  }
  return [...byName.values()].map((plan) => ({
    name: plan.name,
    isDefault: hasDefault && plan === fallback,
    limits: plan.limits.filter(({ observes }) => !observes).map(known),
  }))
}
