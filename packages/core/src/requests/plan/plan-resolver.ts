import { type TollgateError, ConfigError, show } from '../../base/errors.js'
import { expectedName, nearestOf } from '../../base/options.js'
import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Warn } from '../../base/warnings.js'
import type { LimitDefaults } from '../../plans/limit/limit.js'
import { OWN_LIMITS } from '../../plans/own-limits.js'
import type { Plan } from '../../plans/plan.js'
import {
  compilePlans,
  type KnownPlan,
  knownPlans,
  needPlans,
  type PlanOptions,
  type Plans,
  type PlanTerms,
} from '../../plans/plans.js'
import type { Subject } from '../../plans/subject.js'
import type { HideId } from '../key.js'
import { asWritten } from '../subject/address.js'
import { noPlans, isNone } from '../subject/subject.js'
import { OwnPlans, type OwnPlansOptions } from './own-plans.js'
import {
  planError,
  readPlan,
  type FoundPlan,
  type PlanCacheOptions,
  PlanLookup,
  type PlanOf,
} from './plan-lookup.js'

export interface PlanResolverOptions extends PlanOptions, Pick<PlanTerms, 'isWithoutPlans'> {
  readonly planOf?: PlanOf | undefined
  readonly planCache?: PlanCacheOptions | undefined
  /** As in parseLimit. */
  readonly defaults?: LimitDefaults | undefined
}

/** Called for subjects whose plan was not found, or that bring limits. */
export interface PlanListener extends Omit<OwnPlansOptions, 'defaults'> {
  onPlanError(error: TollgateError, subject: Subject): void
  /**
   * @param used  the plan that is applied instead
   * @param names the names of all plans
   */
  onUnknownPlan(subject: Subject, used: string, names: Iterable<string>): void
}

/** Finds a subject's plan, by the name or the limits that the subject or `planOf` gives. */
export class PlanResolver {
  readonly #listener: PlanListener
  readonly #lookup: PlanLookup | undefined
  readonly #own: OwnPlans
  readonly #terms: PlanTerms
  #plans: Plans
  #defaultPlan: string | undefined

  /** @throws {ConfigError} when a plan or the look-up is wrong */
  constructor(options: PlanResolverOptions, listener: PlanListener) {
    const { planOf, planCache = {}, defaultPlan, defaults = {}, isWithoutPlans } = options
    this.#own = new OwnPlans({ defaults, ...listener })
    this.#listener = listener
    this.#terms = { defaults }
    this.#plans = compilePlans(options, { defaults, isWithoutPlans })
    this.#defaultPlan = defaultPlan
    if (planOf === undefined) return
    this.#lookup = new PlanLookup(planOf, planCache, {
      read: (given) => readPlan(given, (limits) => this.#own.ofAnswer(limits)),
      onError: (error, subject) => listener.onPlanError(error, subject),
    })
    this.needDefault(SUBJECTS_NOT_FOUND)
  }

  /** All plans, in the order they were given. */
  get plans(): Iterable<Plan> {
    return this.#plans.byName.values()
  }

  get names(): readonly string[] {
    return [...this.#plans.byName.keys()]
  }

  /** The same, for people. */
  get known(): readonly KnownPlan[] {
    return knownPlans(this.#plans)
  }

  /** Whether the id of a subject alone says its plan. */
  get knowsPlans(): boolean {
    return this.#lookup !== undefined || this.#plans.byName.size < 2
  }

  /** Whether a subject can be on a plan that lets nothing pass. */
  get canBlock(): boolean {
    return this.#plans.canBlock
  }

  /** Whether a request can wait in line. */
  get canWait(): boolean {
    return this.#plans.canWait
  }

  /**
   * Refuses plans without a clear default.
   *
   * @param whose who gets the default plan, in words for the error
   * @throws {ConfigError} when the user chose no default plan and several plans have limits
   */
  needDefault(whose: string): void {
    needDefault(this.#plans, this.#defaultPlan, whose)
  }

  /**
   * @param check throws for a plan that must be refused
   * @throws {ConfigError} when a plan is wrong. The old plans then stay
   */
  setPlans(given: PlanOptions, check: (plan: Plan) => void): void {
    needPlans(given.plans)
    const { defaultPlan = keptDefault(this.#defaultPlan, given) } = given
    const plans = compilePlans(given, { ...this.#terms, defaultPlan, known: this.#plans })
    if (this.#lookup) needDefault(plans, defaultPlan, SUBJECTS_NOT_FOUND)
    for (const plan of plans.byName.values()) check(plan)
    this.#plans = plans
    this.#defaultPlan = defaultPlan
  }

  /** @throws {TollgateError} ERR_TOLLGATE_SUBJECT when limits that the subject brings are wrong */
  find(subject: Subject): MaybePromise<Plan> {
    const { limits } = subject
    if (!isNone(limits)) return this.#own.ofSubject(limits)
    const found = this.#nameFor(subject)
    // No closure is created if nothing has to be waited for.
    if (isPromise(found)) return found.then((name) => this.#named(subject, name))
    return this.#named(subject, found)
  }

  /**
   * The limits that a subject brings, or that `planOf` gave last.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when they are wrong
   */
  ownOf(subject: Subject): Plan | undefined {
    if (!isNone(subject.limits)) return this.#own.ofSubject(subject.limits)
    const found = this.#lookup?.last(asWritten(subject) ?? subject)
    return typeof found === 'object' ? found : undefined
  }

  /** The name of the plan that `find` would return. Does not report an unknown plan to the listener. */
  nameOf(subject: Subject): MaybePromise<string> {
    if (!isNone(subject.limits)) return OWN_LIMITS
    return chain(this.#nameFor(subject), (found) => {
      const { byName, fallback } = this.#plans
      if (typeof found === 'object') return found.name
      return found !== undefined && byName.has(found) ? found : (fallback?.name ?? OWN_LIMITS)
    })
  }

  /** The name that the subject or `planOf` gives, or the limits that `planOf` gives. */
  #nameFor(subject: Subject): MaybePromise<FoundPlan> {
    const name = subject.plan ?? undefined
    if (name !== undefined || !this.#lookup) return name
    // Client addresses have no plan to look up. But an address that was passed as an id may have one.
    const asked = subject.kind === 'ip' ? asWritten(subject) : subject
    return asked ? this.#lookup.find(asked) : undefined
  }

  /**
   * Makes sure of a subject's plan, for what must not be booked on another one: asks `planOf` again.
   *
   * @returns the subject with the plan that was found, so that nobody has to look it up once more
   * @throws {TollgateError} ERR_TOLLGATE_PLAN when that fails, or there is no plan with the name
   */
  async confirm(subject: Subject): Promise<Subject> {
    if (!isNone(subject.limits)) return subject
    const asked = subject.kind === 'ip' ? asWritten(subject) : subject
    const name = subject.plan ?? (asked && (await this.#lookup?.ask(asked)))
    if (typeof name !== 'string') return subject
    if (this.#plans.byName.has(name)) return { ...subject, plan: name }
    const expected = expectedName(name, this.names, 'the name of a plan')
    throw planError(`plan: got ${show(name)}, expected ${expected}`)
  }

  /** Asks `planOf` again at the subject's next request. */
  forget(subject: Subject): void {
    this.#lookup?.forget(asWritten(subject) ?? subject)
  }

  /** As `forget`, for the subject with this key. */
  forgetKey(key: string, hide: HideId | undefined): void {
    void this.#lookup?.forgetKey(key, hide)
  }

  /** Asks `planOf` again for all subjects. */
  forgetAll(): void {
    this.#lookup?.forgetAll()
  }

  /** The plan of this name; undefined if there is none. */
  named(name: string): Plan | undefined {
    return this.#plans.byName.get(name)
  }

  /** @throws {ConfigError} when the limits are wrong, or the store cannot count them */
  compileOwn(limits: unknown): Plan {
    return this.#own.ofRule(limits)
  }

  #named(subject: Subject, name: FoundPlan): Plan {
    if (typeof name === 'object') return name
    const { byName, fallback, hasDefault } = this.#plans
    const plan = name === undefined ? undefined : byName.get(name)
    if (plan) return plan
    if (!fallback) throw noPlans(subject)
    if (name !== undefined || !hasDefault) {
      const named = name === subject.plan ? subject : { ...subject, plan: name }
      this.#listener.onUnknownPlan(named, fallback.name, byName.keys())
    }
    return fallback
  }
}

/**
 * The default plan that was chosen before, if the new plans contain it. Throws if they do not: only the user chooses another
 * default.
 *
 * @param kept the default plan that was chosen before
 * @throws {ConfigError}
 */
function keptDefault(kept: string | undefined, { plans }: PlanOptions): string | undefined {
  const [first] = Object.keys(plans ?? {})
  if (kept === undefined || first === undefined || Object.hasOwn(plans ?? {}, kept)) return kept
  const problem = `the default plan ${show(kept)} is not among the plans: keep it, or choose another`
  throw new ConfigError('plans', `${problem}: setPlans(plans, { defaultPlan: ${show(first)} })`)
}

const SUBJECTS_NOT_FOUND = 'subjects that planOf does not find'

/**
 * Refuses plans without a clear default.
 *
 * @param given the default plan that was chosen
 * @param whose who gets it, in words for the error
 * @throws {ConfigError}
 */
function needDefault({ hasDefault }: Plans, given: string | undefined, whose: string): void {
  if (hasDefault) return
  throw ConfigError.wrong('defaultPlan', given, `the name of a plan, such as 'free', for ${whose}`)
}

/** At most this many warnings, so that clients that can choose a plan's name cannot fill the log. */
const MOST_NAMES = 20

/** Warns of plans that do not exist, once per name. A tenant with a misspelt plan may get less than it pays for. */
export class PlanWarning {
  readonly #warn: Warn
  readonly #hidesIds: boolean
  readonly #told = new Set<string>()

  /** @param hidesIds whether ids must not be printed */
  constructor(warn: Warn, hidesIds: boolean) {
    this.#warn = warn
    this.#hidesIds = hidesIds
  }

  /**
   * @param used  the plan that is applied instead
   * @param plans the names of all plans
   */
  tell({ id, plan }: Subject, used: string, plans: Iterable<string>): void {
    if (this.#told.size >= MOST_NAMES) return
    const name = plan === undefined ? 'no plan' : `the plan ${show(plan)}`
    if (this.#told.has(name)) return
    this.#told.add(name)
    const who = this.#hidesIds ? 'A subject' : `The subject ${show(String(id))}`
    const held = `it is held to ${show(used)}`
    if (plan === undefined) {
      this.#warn(
        'TOLLGATE_PLAN',
        `${who} has no plan, and there is no defaultPlan; ${held}. Set defaultPlan.`,
      )
      return
    }
    const names = [...plans]
    const meant = nearestOf(plan, names)
    const advice =
      meant === undefined ? `Plans are: ${names.slice(0, 10).join(', ')}` : `Did you mean ${show(meant)}?`
    this.#warn('TOLLGATE_PLAN', `${who} has ${name}, which is not in plans; ${held}. ${advice}`)
  }
}
