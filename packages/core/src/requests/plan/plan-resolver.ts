import type { TollgateError } from '../../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Algorithm } from '../../plans/limit/limit.js'
import type { Plan } from '../../plans/plan.js'
import type { Subject } from '../../plans/subject.js'
import { PlanLookup, type PlanOf } from './plan-cache.js'
import { keptDefault, needDefault, SUBJECTS_NOT_FOUND } from './default-plan.js'
import { asWritten } from '../subject/address-id.js'
import { readPlan, type Found } from './plan-answer.js'
import { OwnPlans, type OwnPlansOptions } from './own-plans.js'
import { OWN_LIMITS } from '../../plans/own-limits.js'
import { isNone } from '../subject/subject.js'
import { noPlans } from '../subject/subject-errors.js'
import { compilePlans, needPlans, type PlanOptions, type Plans, type PlanTerms } from '../../plans/plans.js'
import type { PlanCacheOptions } from './plan-cache-options.js'

export interface PlanResolverOptions extends PlanOptions, Pick<PlanTerms, 'isWithoutPlans'> {
  readonly planOf?: PlanOf | undefined
  readonly planCache?: PlanCacheOptions | undefined
  /** The algorithm of limits that name none, if the store has one of its own. */
  readonly defaultAlgorithm?: Algorithm | undefined
}

/** Called for subjects whose plan was not found, or who bring limits. */
export interface PlanListener extends Omit<OwnPlansOptions, 'defaultAlgorithm'> {
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
  readonly #own: OwnPlans
  readonly #terms: PlanTerms
  #plans: Plans
  #defaultPlan: string | undefined

  /** @throws {ConfigError} when a plan or the look-up is wrong */
  constructor(options: PlanResolverOptions, listener: PlanListener) {
    const { planOf, planCache = {}, defaultPlan, defaultAlgorithm, isWithoutPlans } = options
    this.#own = new OwnPlans({ defaultAlgorithm, ...listener })
    this.#listener = listener
    this.#terms = { defaultAlgorithm }
    this.#plans = compilePlans(options, { defaultAlgorithm, isWithoutPlans })
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
    // No function is made where nothing is looked up.
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

  /** The name of the plan that `find` would give. Tells the listener nothing of an unknown one. */
  nameOf(subject: Subject): MaybePromise<string> {
    if (!isNone(subject.limits)) return OWN_LIMITS
    return chain(this.#nameFor(subject), (found) => {
      const { byName, fallback } = this.#plans
      if (typeof found === 'object') return found.name
      return found !== undefined && byName.has(found) ? found : (fallback?.name ?? OWN_LIMITS)
    })
  }

  /** The name that the subject or `planOf` gives, or the limits that `planOf` gives. */
  #nameFor(subject: Subject): MaybePromise<Found> {
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

  #named(subject: Subject, name: Found): Plan {
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
