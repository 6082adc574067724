import { chain, isPromise, type MaybePromise } from '../base/promises.js'
import type { Warn } from '../base/warnings.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import { shardOf, subjectKey, type HideId } from './key.js'
import { LimitNames } from './named-limits.js'
import type { PlanResolver } from './plan/plan-resolver.js'
import type { Part, Request } from './request.js'
import { needSameLimit, type Counters, type Scope } from './scope.js'
import { stepsOf } from './steps.js'
import { asWritten } from './subject/address-id.js'
import { needSubject, readSubject, readSubjects } from './subject/subject.js'
import { noSubject } from './subject/subject-errors.js'
import { countersOf, distinct, type Counter } from './counters.js'

export interface RequestBuilderOptions {
  readonly plans: PlanResolver
  readonly hide: HideId | undefined
  /** What all keys begin with. */
  readonly begin: string
  /** The number of the store's shards. */
  readonly shards: number
  /** Whether the store decides several keys of a shard in one step. */
  readonly isAtomic: boolean
  readonly warn: Warn
}

/** The keys under which a subject is counted, all in one shard. */
export interface SubjectKeys {
  readonly shard: number
  readonly keys: readonly string[]
  /** The limits that can be counted under them. */
  readonly sets: readonly LimitSet[]
}

const NO_PARTS: readonly Part[] = []

/** Builds requests: finds the subjects' plans, and computes keys, shards and steps. */
export class RequestBuilder {
  readonly #options: RequestBuilderOptions
  readonly #names = new LimitNames()
  #hasWarned = false
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
    if (Array.isArray(given) || scope.stacked.length > 0) return this.#buildListed(given, cost, scope)
    const subject = readSubject(given)
    if (!subject) throw noSubject(given)
    return this.#buildOne(subject, cost, scope)
  }

  #buildListed(given: unknown, cost: number, scope: Scope): MaybePromise<Request> {
    const subjects = readSubjects(given)
    if (!subjects) throw noSubject(given)
    if (subjects.length === 1 && scope.stacked.length === 0) return this.#buildOne(subjects[0], cost, scope)
    if (subjects.some(asWritten)) this.#warnOfAddress()
    return this.#buildJoint(subjects, cost, scope)
  }

  #buildOne(subject: Subject, cost: number, scope: Scope): MaybePromise<Request> {
    if (subject.kind === 'ip' && asWritten(subject)) this.#warnOfAddress()
    const found = this.#planOf(subject, scope)
    if (found instanceof Promise) return found.then((plan) => this.#single(subject, plan, scope, cost))
    return this.#single(subject, found, scope, cost)
  }

  /**
   * The plan that applies: the group's, if the group has limits of its own and the subject is not blocked; else the
   * subject's.
   */
  #planOf(subject: Subject, { plan }: Scope): MaybePromise<Plan> {
    const { plans } = this.#options
    if (!plan) return plans.find(subject)
    // If a group has limits of its own, the subject's plan is not needed. It is looked up only when some plan is
    // `blocked`.
    return plans.canBlock ? chain(plans.find(subject), (own) => (own.isBlocked ? own : plan)) : plan
  }

  /**
   * The keys under which a subject is counted: in one scope, or without `scope` in all of them.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   */
  keysOf(given: unknown, scope?: Scope): SubjectKeys {
    const subject = needSubject(given)
    const key = subjectKey(subject, this.#options.hide)
    const own = this.#options.plans.ownOf(subject)
    const ofSubject = own ? [...this.#options.plans.plans, own] : this.#options.plans.plans
    const counters = scope ? [scope, ...scope.stacked] : [...this.#counters.values()]
    return {
      shard: shardOf(key, this.#options.shards),
      keys: counters.map(({ suffix }) => this.#options.begin + key + suffix),
      sets: counters.flatMap(({ plan }) => (plan ? setsOf([plan]) : setsOf(ofSubject))),
    }
  }

  #warnOfAddress(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#options.warn(
      'TOLLGATE_ADDRESS',
      'An IP address was given as an id. It is counted as the address of a client (IPv6 by its /64 network). To say so, ' +
        'write identify: byIp(), or limiter.consume(subjectOfIp(address)); this warning then ends. For a tenant whose id ' +
        "looks like an address, give { id, kind: 'id' }.",
    )
  }

  #single(subject: Subject, plan: Plan, scope: Scope, cost: number): Request {
    const { set, limits } = plan
    if (plan.isBlocked) return blockedRequest(subject, plan, cost)
    if (!set) return { subject, plan, cost, parts: NO_PARTS, limits, shard: 0, grant: 'all' }
    const { begin, hide, shards } = this.#options
    const key = subjectKey(subject, hide)
    const shard = shardOf(key, shards)
    const { onStoreFailure } = plan
    const planName = scope.plan ? undefined : plan.name
    const place = scope.name
    const keyInScope = begin + key + scope.suffix
    const part = { key: keyInScope, set, cost, subject, limits, planName, place, onStoreFailure, shard }
    return { subject, plan, cost, parts: [part], limits, shard, grant: 'all' }
  }

  #buildJoint(subjects: readonly [Subject, ...Subject[]], cost: number, scope: Scope): MaybePromise<Request> {
    const plans = subjects.map((subject) => this.#planOf(subject, scope))
    const build = (found: readonly Plan[]): Request => {
      if (found.some(({ isBlocked }) => isBlocked)) return blockedRequest(subjects[0], found[0] as Plan, cost)
      return this.#joint(countersOf(subjects, found, scope), cost)
    }
    return plans.some(isPromise) ? Promise.all(plans).then(build) : build(plans as Plan[])
  }

  #joint(counters: readonly [Counter, ...Counter[]], cost: number): Request {
    const [{ subject, plan }] = counters
    const { begin, hide, shards } = this.#options
    const keyed = counters.map((counter) => {
      const key = subjectKey(counter.subject, hide)
      return { ...counter, key: begin + key + counter.suffix, shard: shardOf(key, shards) }
    })
    const limited = distinct(keyed).filter((counter) => counter.plan.set)
    const named = this.#names.of(limited)
    const parts = limited.map(
      ({ key, shard, subject: owner, plan: { set }, own, planName, place }, i): Part => {
        const limits = named.ofEach[i] ?? []
        const { onStoreFailure } = own
        return {
          key,
          shard,
          set: set as LimitSet,
          cost,
          subject: owner,
          limits,
          planName,
          place,
          onStoreFailure,
        }
      },
    )
    const shard = parts[0]?.shard ?? 0
    const request: Request = { subject, plan, cost, parts, limits: named.all, shard, grant: 'all' }
    const steps = stepsOf(request, this.#options.isAtomic)
    return steps ? { ...request, steps } : request
  }
}

function blockedRequest(subject: Subject, plan: Plan, cost: number): Request {
  return { subject, plan, cost, parts: NO_PARTS, limits: [], shard: 0, grant: 'all', isBlocked: true }
}

function setsOf(plans: Iterable<Plan>): LimitSet[] {
  return Array.from(plans, ({ set }) => set).filter((set) => set !== undefined)
}
