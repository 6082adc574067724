import { ConfigError } from '../base/errors.js'
import { chain, type MaybePromise } from '../base/maybe-promise.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import { PlanLookup, type PlanOf } from './plan-cache.js'
import { asWritten } from './subject.js'
import { compilePlans, type PlanOptions, type Plans } from '../plans/plans.js'
import type { PlanCacheOptions } from './plan-cache-options.js'

export interface PlanResolverOptions extends PlanOptions {
  readonly planOf?: PlanOf
  readonly planCache?: PlanCacheOptions
}

/** Told of subjects whose plan was not found. */
export interface PlanListener {
  onPlanError(error: Error, subject: Subject): void
  /**
   * @param used the plan that the subject is held to
   * @param names of the plans there are
   */
  onUnknownPlan(subject: Subject, used: string, names: Iterable<string>): void
}

/** Finds the plan of a subject: by the name that it comes with, or that `planOf` gives. */
export class PlanResolver {
  readonly #listener: PlanListener
  readonly #lookup: PlanLookup | undefined
  #plans: Plans
  #defaultPlan: string | undefined

  /** @throws {ConfigError} when a plan or the look-up is wrong */
  constructor(options: PlanResolverOptions, listener: PlanListener) {
    const { planOf, planCache = {}, defaultPlan } = options
    this.#listener = listener
    this.#plans = compilePlans(options)
    this.#defaultPlan = defaultPlan
    if (planOf === undefined) return
    this.#lookup = new PlanLookup(planOf, planCache, (error, subject) => listener.onPlanError(error, subject))
    this.needDefault(SUBJECTS_NOT_FOUND)
  }

  /** All plans there are. */
  get plans(): Iterable<Plan> {
    return this.#plans.byName.values()
  }

  /**
   * @param whose whose plan it is, for the error
   * @throws {ConfigError} when nobody chose a default plan and several could be it
   */
  needDefault(whose: string): void {
    needDefault(this.#plans, this.#defaultPlan, whose)
  }

  /**
   * @param check refuses a plan, by throwing
   * @throws {ConfigError} when one is wrong; the plans then stay as they were
   */
  setPlans(given: PlanOptions, check: (plan: Plan) => void): void {
    // The default plan stays the one it was, where there still is one of that name.
    const isKept = this.#defaultPlan !== undefined && Object.hasOwn(given.plans ?? {}, this.#defaultPlan)
    const { defaultPlan = isKept ? this.#defaultPlan : undefined } = given
    const plans = compilePlans(given, defaultPlan, this.#plans)
    if (this.#lookup) needDefault(plans, defaultPlan, SUBJECTS_NOT_FOUND)
    for (const plan of plans.byName.values()) check(plan)
    this.#plans = plans
    this.#defaultPlan = defaultPlan
  }

  find(subject: Subject): MaybePromise<Plan> {
    const name = subject.plan ?? undefined
    // An address that somebody wrote as an id may well have a plan.
    const asked = subject.kind === 'ip' ? asWritten(subject) : subject
    if (name !== undefined || !this.#lookup || !asked) return this.#named(subject, name)
    return chain(this.#lookup.find(asked), (found) => this.#named(subject, found))
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
  if (!hasDefault) throw ConfigError.wrong('defaultPlan', given, `the plan of ${whose}`)
}
