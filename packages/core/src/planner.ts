import { Composer, type Consumption, type Part } from './consumption.js'
import { ConfigError, show, TollgateError } from './errors.js'
import type { Events } from './events.js'
import { chain, isPromise, type MaybePromise } from './maybe-promise.js'
import { PlanLookup } from './plan-lookup.js'
import { compilePlans, type Plan, type PlanOptions, type Plans } from './plan.js'
import type { LimiterOptions } from './limiter.js'
import { needSameLimit, type Counters, type Scope } from './scope.js'
import { hideWith, readSubject, readSubjects, subjectKey, type HideId, type Subject } from './subject.js'

/** From who pays to what is asked of the store: which plan, under which keys. */
export class Planner {
  readonly #events: Events
  readonly #composer = new Composer()
  readonly #lookup: PlanLookup | undefined
  readonly #hide: HideId | undefined
  /** Of all scopes there are, by the suffix of their keys: for whoever forgets a subject. */
  readonly #counters = new Map<string, Counters>()
  #plans: Plans
  #defaultPlan: string | undefined

  /** @throws {ConfigError} when a plan or the look-up is wrong */
  constructor(options: LimiterOptions, events: Events) {
    const { planOf, planCache = {}, hashIds } = options
    this.#events = events
    this.#plans = compilePlans(options)
    this.#defaultPlan = options.defaultPlan
    this.#hide = hashIds === undefined ? undefined : hideWith(hashIds)
    if (planOf === undefined) return
    this.#lookup = new PlanLookup(planOf, planCache, (error, subject) =>
      events.emit('planError', error, subject),
    )
    this.#needDefault(this.#plans, options.defaultPlan)
  }

  /** @throws {ConfigError} when one is wrong; the plans then stay as they were */
  setPlans(given: PlanOptions): void {
    // The default plan stays the one it was, where there still is one of that name.
    const isKept = this.#defaultPlan !== undefined && Object.hasOwn(given.plans ?? {}, this.#defaultPlan)
    const { defaultPlan = isKept ? this.#defaultPlan : undefined } = given
    const plans = compilePlans(given, defaultPlan, this.#plans)
    if (this.#lookup) this.#needDefault(plans, defaultPlan)
    this.#plans = plans
    this.#defaultPlan = defaultPlan
  }

  /**
   * Makes counters of a scope known.
   *
   * @throws {ConfigError} when some exist already with other limits; none is known by it then
   */
  add(scope: Scope): void {
    const all = [scope, ...scope.stacked]
    for (const counters of all) {
      const known = this.#counters.get(counters.suffix)
      if (known) needSameLimit(counters, known)
    }
    for (const counters of all) this.#counters.set(counters.suffix, counters)
  }

  /**
   * What a request asks for.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   */
  plan(given: unknown, cost: number, scope: Scope): MaybePromise<Consumption> {
    const subjects = readSubjects(given)
    if (!subjects) throw notASubject(given)
    const [first] = subjects
    if (subjects.length > 1 || scope.stacked.length > 0) return this.#planAll(subjects, cost, scope)
    return chain(this.#planOf(first, scope), (plan) => {
      const key = plan.set ? subjectKey(first, scope.suffix, this.#hide) : ''
      return { subject: first, plan, cost, key, set: plan.set }
    })
  }

  /** The keys under which a subject is counted in a scope, or anywhere. */
  keysOf(given: unknown, scope?: Scope): string[] {
    const subject = readSubject(given)
    if (!subject) throw notASubject(given)
    const suffixes = scope ? suffixesOf(scope) : [...this.#counters.keys()]
    return suffixes.map((suffix) => subjectKey(subject, suffix, this.#hide))
  }

  forgetPlan(given: unknown): void {
    const subject = readSubject(given)
    if (!subject) throw notASubject(given)
    this.#lookup?.forget(subject)
  }

  #planAll(
    subjects: readonly [Subject, ...Subject[]],
    cost: number,
    scope: Scope,
  ): MaybePromise<Consumption> {
    const plans = subjects.map((subject) => this.#planOf(subject, scope))
    const compose = (found: readonly Plan[]): Consumption => {
      const [first, ...others] = subjects.map((subject, i) =>
        this.#part(subject, found[i] as Plan, scope, i === 0),
      )
      const stacked = scope.stacked.map(({ plan, suffix }): Part => {
        return {
          subject: subjects[0],
          plan,
          key: subjectKey(subjects[0], suffix, this.#hide),
          label: plan.name,
        }
      })
      return this.#composer.compose([first as Part, ...others, ...stacked], cost)
    }
    return plans.some(isPromise) ? Promise.all(plans).then(compose) : compose(plans as Plan[])
  }

  #part(subject: Subject, plan: Plan, scope: Scope, isFirst: boolean): Part {
    const label = isFirst ? undefined : (subject.label ?? plan.name)
    return { subject, plan, key: subjectKey(subject, scope.suffix, this.#hide), label }
  }

  #planOf(subject: Subject, scope: Scope): MaybePromise<Plan> {
    if (scope.plan) return scope.plan
    const name = subject.plan ?? undefined
    if (name !== undefined || !this.#lookup || subject.kind === 'ip') return this.#named(subject, name)
    return chain(this.#lookup.find(subject), (found) => this.#named(subject, found))
  }

  #named(subject: Subject, name: string | undefined): Plan {
    const { byName, fallback, hasDefault } = this.#plans
    const plan = name === undefined ? undefined : byName.get(name)
    if (plan) return plan
    if (name !== undefined || !hasDefault) {
      this.#events.emit(
        'unknownPlan',
        name === subject.plan ? subject : { ...subject, plan: name },
        fallback.name,
      )
    }
    return fallback
  }

  #needDefault({ hasDefault }: Plans, given: string | undefined): void {
    if (hasDefault) return
    throw new ConfigError('defaultPlan', given, 'the plan of subjects that planOf does not find')
  }
}

function suffixesOf({ suffix, stacked }: Scope): string[] {
  return [suffix, ...stacked.map((one) => one.suffix)]
}

function notASubject(given: unknown): TollgateError {
  const message = `subject: got ${show(given)}, expected an id that is not empty`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}
