import { chain, isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { LimitSet } from '../plans/limit-set.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import { shardOf, subjectKey, type HideId } from './key.js'
import { LimitNames } from './named-limits.js'
import type { PlanResolver } from './plan-resolver.js'
import type { Part, Request } from './request.js'
import { needSameLimit, type Counters, type Scope } from './scope.js'
import { stepsOf } from './steps.js'
import { needSubject, noSubject, readSubjects } from './subject.js'
import { countersOf, distinct, type Counter } from './counters.js'

export interface RequestBuilderOptions {
  readonly plans: PlanResolver
  readonly hide: HideId | undefined
  /** The number of the store's shards. */
  readonly shards: number
  /** Whether the store decides several keys of a shard in one step. */
  readonly isAtomic: boolean
}

/** The keys under which a subject is counted, all in one shard. */
export interface SubjectKeys {
  readonly shard: number
  readonly keys: readonly string[]
}

const NO_PARTS: readonly Part[] = []

/** Builds requests: finds the subjects' plans, and computes keys, shards and steps. */
export class RequestBuilder {
  readonly #options: RequestBuilderOptions
  readonly #names = new LimitNames()
  /** The counters of all scopes, by the suffix of their keys: a reset of the limiter needs all of them. */
  readonly #counters = new Map<string, Counters>()

  constructor(options: RequestBuilderOptions) {
    this.#options = options
  }

  /**
   * Registers the counters of a scope.
   *
   * @throws {ConfigError} when some exist already with other limits; then none of this scope is registered
   */
  add(scope: Scope): void {
    const all = [scope, ...scope.stacked]
    for (const counters of all) {
      const known = this.#counters.get(counters.suffix)
      if (known) needSameLimit(counters, known)
    }
    for (const counters of all) this.#counters.set(counters.suffix, counters)
  }

  /** @throws {TollgateError} ERR_TOLLGATE_SUBJECT */
  build(given: unknown, cost: number, scope: Scope): MaybePromise<Request> {
    const subjects = readSubjects(given)
    if (!subjects) throw noSubject(given)
    const [first] = subjects
    if (subjects.length > 1 || scope.stacked.length > 0) return this.#buildJoint(subjects, cost, scope)
    const plan = scope.plan ? undefined : this.#options.plans.find(first)
    // A group with limits of its own needs no look-up of the subject's plan.
    if (plan === undefined) return this.#single(first, scope.plan as Plan, scope.suffix, cost)
    return chain(plan, (found) => this.#single(first, found, scope.suffix, cost))
  }

  /**
   * The keys under which a subject is counted: in one scope, or without `scope` in all of them.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   */
  keysOf(given: unknown, scope?: Scope): SubjectKeys {
    const key = subjectKey(needSubject(given), this.#options.hide)
    const suffixes = scope ? suffixesOf(scope) : [...this.#counters.keys()]
    return { shard: shardOf(key, this.#options.shards), keys: suffixes.map((suffix) => key + suffix) }
  }

  #single(subject: Subject, plan: Plan, suffix: string, cost: number): Request {
    const { set, limits } = plan
    if (!set) return { subject, plan, cost, parts: NO_PARTS, limits, shard: 0, grant: 'all' }
    const key = subjectKey(subject, this.#options.hide)
    const shard = shardOf(key, this.#options.shards)
    const { onStoreFailure } = plan
    const part = { key: key + suffix, set, cost, subject, limits, onStoreFailure, shard }
    return { subject, plan, cost, parts: [part], limits, shard, grant: 'all' }
  }

  #buildJoint(subjects: readonly [Subject, ...Subject[]], cost: number, scope: Scope): MaybePromise<Request> {
    const plans = subjects.map((subject) => scope.plan ?? this.#options.plans.find(subject))
    const build = (found: readonly Plan[]): Request => this.#joint(countersOf(subjects, found, scope), cost)
    return plans.some(isPromise) ? Promise.all(plans).then(build) : build(plans as Plan[])
  }

  #joint(counters: readonly [Counter, ...Counter[]], cost: number): Request {
    const [{ subject, plan }] = counters
    const keyed = counters.map((counter) => {
      const key = subjectKey(counter.subject, this.#options.hide)
      return { ...counter, key: key + counter.suffix, shard: shardOf(key, this.#options.shards) }
    })
    const limited = distinct(keyed).filter((counter) => counter.plan.set)
    const named = this.#names.of(limited)
    const parts = limited.map(({ key, shard, subject: owner, plan: { set }, own }, i): Part => {
      const limits = named.ofEach[i] ?? []
      const { onStoreFailure } = own
      return { key, shard, set: set as LimitSet, cost, subject: owner, limits, onStoreFailure }
    })
    const shard = parts[0]?.shard ?? 0
    const request: Request = { subject, plan, cost, parts, limits: named.all, shard, grant: 'all' }
    const steps = stepsOf(request, this.#options.isAtomic)
    return steps ? { ...request, steps } : request
  }
}

function suffixesOf({ suffix, stacked }: Scope): string[] {
  return [suffix, ...stacked.map((one) => one.suffix)]
}
