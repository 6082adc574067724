import { ConfigError, show, type TollgateError } from '../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Algorithm } from '../plans/limit.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import { PlanLookup, type PlanOf } from './plan-cache.js'
import { asWritten } from './address-id.js'
import { compilePlans, type PlanOptions, type Plans } from '../plans/plans.js'
import type { PlanCacheOptions } from './plan-cache-options.js'

export interface PlanResolverOptions extends PlanOptions {
  readonly planOf?: PlanOf
  readonly planCache?: PlanCacheOptions
  /** The algorithm of limits that name none, if the store has one of its own. */
  readonly defaultAlgorithm?: Algorithm | undefined
}

/** Called for subjects whose plan was not found. */
export interface PlanListener {
  onPlanError(error: TollgateError, subject: Subject): void
  /**
   * @param used  the plan that is applied instead
   * @param names the names of all plans
   */
  onUnknownPlan(subject: Subject, used: string, names: Iterable<string>): void
}

/** Finds the plan of a subject by the name that the subject or `planOf` gives. */
export class PlanResolver {
  readonly #listener: PlanListener
  readonly #lookup: PlanLookup | undefined
  readonly #defaultAlgorithm: Algorithm | undefined
  #plans: Plans
  #defaultPlan: string | undefined

  /** @throws {ConfigError} when a plan or the look-up is wrong */
  constructor(options: PlanResolverOptions, listener: PlanListener) {
    const { planOf, planCache = {}, defaultPlan, defaultAlgorithm } = options
    this.#listener = listener
    this.#defaultAlgorithm = defaultAlgorithm
    this.#plans = compilePlans(options, { defaultAlgorithm })
    this.#defaultPlan = defaultPlan
    if (planOf === undefined) return
    this.#lookup = new PlanLookup(planOf, planCache, (error, subject) => listener.onPlanError(error, subject))
    this.needDefault(SUBJECTS_NOT_FOUND)
  }

  /** All plans, in the order they were given. */
  get plans(): Iterable<Plan> {
    return this.#plans.byName.values()
  }

  get names(): readonly string[] {
    return [...this.#plans.byName.keys()]
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
   * @param whose who gets the default plan, for the error
   * @throws {ConfigError} when the user chose no default plan and several plans have limits
   */
  needDefault(whose: string): void {
    needDefault(this.#plans, this.#defaultPlan, whose)
  }

  /**
   * @param check throws for a plan that must be refused
   * @throws {ConfigError} when a plan is wrong; the old plans then stay
   */
  setPlans(given: PlanOptions, check: (plan: Plan) => void): void {
    const { defaultPlan = this.#keptDefault(given) } = given
    const plans = compilePlans(given, {
      defaultPlan,
      known: this.#plans,
      defaultAlgorithm: this.#defaultAlgorithm,
    })
    if (this.#lookup) needDefault(plans, defaultPlan, SUBJECTS_NOT_FOUND)
    for (const plan of plans.byName.values()) check(plan)
    this.#plans = plans
    this.#defaultPlan = defaultPlan
  }

  /**
   * The chosen default plan, if the new plans still contain it. If not, this throws: no other plan becomes the default
   * unless the user says so.
   */
  #keptDefault({ plans }: PlanOptions): string | undefined {
    const kept = this.#defaultPlan
    const [first] = Object.keys(plans ?? {})
    if (kept === undefined || first === undefined || Object.hasOwn(plans ?? {}, kept)) return kept
    const problem = `the default plan ${show(kept)} is not among the plans: keep it, or choose another`
    throw new ConfigError('plans', `${problem}: setPlans(plans, { defaultPlan: ${show(first)} })`)
  }

  find(subject: Subject): MaybePromise<Plan> {
    const found = this.#nameFor(subject)
    // No function is made where nothing is looked up.
    if (isPromise(found)) return found.then((name) => this.#named(subject, name))
    return this.#named(subject, found)
  }

  /** The name of the plan that `find` would give. Tells the listener nothing of an unknown one. */
  nameOf(subject: Subject): MaybePromise<string> {
    return chain(this.#nameFor(subject), (name) => {
      const { byName, fallback } = this.#plans
      return name !== undefined && byName.has(name) ? name : fallback.name
    })
  }

  /** The name that the subject or `planOf` gives. */
  #nameFor(subject: Subject): MaybePromise<string | undefined> {
    const name = subject.plan ?? undefined
    if (name !== undefined || !this.#lookup) return name
    // Client addresses have no plan to look up. But an address that the caller passed as an id may have one.
    const asked = subject.kind === 'ip' ? asWritten(subject) : subject
    return asked ? this.#lookup.find(asked) : undefined
  }

  /** Asks `planOf` again at the subject's next request. */
  forget(subject: Subject): void {
    this.#lookup?.forget(asWritten(subject) ?? subject)
  }

  #named(subject: Subject, name: string | undefined): Plan {
    const { byName, fallback, hasDefault } = this.#plans
    const plan = name === undefined ? undefined : byName.get(name)
    if (plan) return plan
    if (name !== undefined || !hasDefault) {
      const named = name === subject.plan ? subject : { ...subject, plan: name }
      this.#listener.onUnknownPlan(named, fallback.name, byName.keys())
    }
    return fallback
  }
}

const SUBJECTS_NOT_FOUND = 'subjects that planOf does not find'

function needDefault({ hasDefault }: Plans, given: string | undefined, whose: string): void {
  if (hasDefault) return
  throw ConfigError.wrong('defaultPlan', given, `the name of a plan, such as 'free', for ${whose}`)
}
