import { isPromise, type MaybePromise } from '../base/promises.js'
import type { Warn } from '../base/warnings.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { Limit } from '../plans/limit/limit.js'
import { newSerial, type Plan } from '../plans/plan.js'
import type { StoreAbilities } from '../stores/contract.js'
import { countsBilled } from '../stores/store-check.js'
import type { Subject } from '../plans/subject.js'
import { countersOf, distinct, type Counter } from './counters.js'
import { LimitNames } from './limit-names.js'
import { markKey, markName, shardOf, subjectKey, type HideId, rememberLast } from './key.js'
import { BillingDays } from './plan/billing-days.js'
import type { PlanResolver } from './plan/plan-resolver.js'
import type { BlockInForce, RuleLookup, RulesInForce } from './rule-lookup.js'
import { type Part, type Request } from './request.js'
import { stepsOf } from './steps.js'
import { needSameLimit, type Counters, type Scope } from './scope.js'
import { asWritten } from './subject/address.js'
import { isNone, noSubject, needSubject, readSubject, readSubjects } from './subject/subject.js'

export interface RequestBuilderOptions {
  readonly plans: PlanResolver
  readonly rules: RuleLookup
  readonly hide: HideId | undefined
  /** What all keys begin with. */
  readonly begin: string
  readonly store: StoreAbilities
  readonly warn: Warn
}

/** The keys under which a subject is counted, all in one shard. */
export interface SubjectKeys {
  readonly shard: number
  readonly keys: readonly string[]
  /** The keys that remember of which of its limits listeners were warned. Left out: there are none. */
  readonly marks?: readonly string[]
  /** The limits that can be counted under them. */
  readonly sets: readonly LimitSet[]
}

const NO_PARTS: readonly Part[] = []
const NO_LIMITS: readonly Limit[] = []

/** Builds requests: finds the subjects' plans, and computes keys, shards and steps. */
export class RequestBuilder {
  readonly #options: RequestBuilderOptions
  readonly #shards: number
  readonly #names = new LimitNames()
  readonly #days: BillingDays
  #hasWarned = false
  /** The counters of all scopes, by the suffix of their keys: a reset of the limiter needs all of them. */
  readonly #counters = new Map<string, Counters>()

  constructor(options: RequestBuilderOptions) {
    const { store } = options
    this.#shards = store.shards ?? 1
    this.#days = new BillingDays((set) => countsBilled(store, set))
    this.#options = options.hide ? { ...options, hide: rememberLast(options.hide) } : options
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

  /**
   * As `build`, for what must not be booked on another plan: if `planOf` fails, so does this.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT or ERR_TOLLGATE_PLAN
   */
  async buildFor(given: unknown, scope: Scope): Promise<Request> {
    const asked = needSubject(given)
    const subject = scope.plan ? asked : await this.#options.plans.confirm(asked)
    return this.build(subject, 1, { ...scope, ignoresBlocks: true })
  }

  /** Whether a subject was given without its plan, and nothing says which that is. */
  isPlanUnknown(given: unknown): boolean {
    return (typeof given !== 'object' || given === null) && !this.#options.plans.knowsPlans
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
    // Before its plan is looked up: `planOf` is not asked about a subject that is blocked.
    const inForce = this.#inForce(subject)
    if (inForce?.block && !scope.ignoresBlocks) return blockedByRule(subject, cost, inForce.block)
    const own = this.#ownOf(subject, scope)
    if (!(own instanceof Promise)) {
      return this.#single(subject, this.#planFor(own, scope, inForce), scope, cost)
    }
    return own.then((found) => {
      // Rules may have changed meanwhile.
      const later = this.#inForce(subject)
      if (later?.block && !scope.ignoresBlocks) return blockedByRule(subject, cost, later.block)
      return this.#single(subject, this.#planFor(found, scope, later), scope, cost)
    })
  }

  /** The first override that applies to one of the subjects now. */
  overrideOf(subjects: readonly Subject[]): { readonly until: Date } | undefined {
    for (const subject of subjects) {
      const override = this.#inForce(subject)?.override
      if (override) return { until: new Date(override.until / 1000) }
    }
    return undefined
  }

  #inForce(subject: Subject): RulesInForce | undefined {
    const { rules } = this.#options
    return rules.isEmpty ? undefined : rules.find(subject)
  }

  /**
   * The subject's own plan. If a group has its own limits, that matters only if it is `blocked`. So it is looked up only if some
   * plan is.
   */
  #ownOf(subject: Subject, { plan }: Scope): MaybePromise<Plan | undefined> {
    const { plans } = this.#options
    return !plan || plans.canBlock ? plans.find(subject) : undefined
  }

  /** The limits of a plan as the subject's billing day makes them. */
  #setOf(plan: Plan, subject: Subject): LimitSet | undefined {
    return hasBillingDay(subject) ? this.#days.setFor(plan, subject) : plan.set
  }

  /**
   * The plan that applies by the rules of now: the group's, if the group has its own limits and the subject is not on a blocked plan;
   * otherwise `own`.
   */
  #planFor(own: Plan | undefined, { plan: group }: Scope, inForce: RulesInForce | undefined): Plan {
    const { rules } = this.#options
    const { isEmpty } = rules
    if (own && !group && inForce === undefined && !rules.hasScales) return own
    const ruled = own && !isEmpty ? rules.planFor(own, inForce, true) : own
    if (!group || ruled?.isBlocked) return ruled as Plan
    return isEmpty ? group : rules.planFor(group, inForce, false)
  }

  /**
   * The keys under which a subject is counted: in one scope, or without `scope` in all scopes.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   */
  keysOf(given: unknown, scope?: Scope): SubjectKeys {
    const subject = needSubject(given)
    const key = subjectKey(subject, this.#options.hide)
    const own = this.#options.plans.ownOf(subject)
    const ofSubject = [...this.#options.plans.plans, ...(own ? [own] : [])]
    const counters = scope ? [scope, ...scope.stacked] : [...this.#counters.values()]
    const keyWith = (suffix: string): string => this.#options.begin + key + suffix
    return {
      shard: shardOf(key, this.#shards),
      keys: counters.map(({ suffix }) => keyWith(suffix)),
      marks: counters.flatMap(({ suffix, plan }) => {
        const plans = plan ? [plan] : ofSubject
        return marksOf(keyWith(suffix), [...plans, ...this.#ruled(subject, plans, !plan)])
      }),
      sets: counters.flatMap(({ plan }) => (plan ? setsOf([plan]) : setsOf(ofSubject))),
    }
  }

  /** Plans as the rules of now make them. */
  #ruled(subject: Subject, plans: readonly Plan[], isOwn: boolean): readonly Plan[] {
    const { rules } = this.#options
    if (rules.isEmpty) return []
    const inForce = rules.find(subject)
    return plans.map((plan) => rules.planFor(plan, inForce, isOwn))
  }

  /** The rule by which one of a request's subjects is blocked now. */
  blockOf({ subject, subjects = [subject] }: Request): BlockInForce | undefined {
    return this.#blockOf(subjects)
  }

  /** The keys in all scopes of the subject whose keys begin like this. */
  keysUnder(key: string): string[] {
    return [...this.#counters.values()].map(({ suffix }) => this.#options.begin + key + suffix)
  }

  #warnOfAddress(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    this.#options.warn(
      'TOLLGATE_ADDRESS',
      "An id is an IP address, so it counts as a client's address (IPv6 by its /64 network). If you mean that, write " +
        "identify: byIp(), or limiter.consume(subjectForIp(address)). If a tenant's id only looks like an address, write " +
        "{ id, kind: 'id' }.",
    )
  }

  #single(subject: Subject, plan: Plan, scope: Scope, cost: number): Request {
    const set = this.#setOf(plan, subject)
    const { limits } = plan
    if (plan.isBlocked) return blockedRequest(subject, plan, cost)
    if (!set) return { subject, plan, cost, parts: NO_PARTS, limits, shard: 0, grant: 'all' }
    const { begin, hide } = this.#options
    const key = subjectKey(subject, hide)
    const shard = shardOf(key, this.#shards)
    const { onStoreFailure } = plan
    const planName = scope.plan ? undefined : plan.name
    const place = scope.name
    const keyInScope = begin + key + scope.suffix
    const part = { key: keyInScope, set, cost, subject, limits, planName, place, onStoreFailure, shard }
    return { subject, plan, cost, parts: [part], limits, shard, grant: 'all', isLenient: set.isLenient }
  }

  #buildJoint(subjects: readonly [Subject, ...Subject[]], cost: number, scope: Scope): MaybePromise<Request> {
    const block = scope.ignoresBlocks ? undefined : this.#blockOf(subjects)
    if (block) return blockedByRule(subjects[0], cost, block)
    const own = subjects.map((subject) => this.#ownOf(subject, scope))
    if (!own.some(isPromise)) return this.#buildRuled(subjects, own as (Plan | undefined)[], { cost, scope })
    return Promise.all(own).then((found) => {
      // Rules may have changed meanwhile.
      const later = scope.ignoresBlocks ? undefined : this.#blockOf(subjects)
      if (later) return blockedByRule(subjects[0], cost, later)
      return this.#buildRuled(subjects, found, { cost, scope })
    })
  }

  #blockOf(subjects: readonly Subject[]): BlockInForce | undefined {
    for (const subject of subjects) {
      const block = this.#inForce(subject)?.block
      if (block) return block
    }
    return undefined
  }

  #buildRuled(
    subjects: readonly [Subject, ...Subject[]],
    own: readonly (Plan | undefined)[],
    { cost, scope }: { readonly cost: number; readonly scope: Scope },
  ): Request {
    const inForce = subjects.map((subject) => this.#inForce(subject))
    const plans = own.map((plan, i) => this.#planFor(plan, scope, inForce[i]))
    if (plans.some(({ isBlocked }) => isBlocked)) return blockedRequest(subjects[0], plans[0] as Plan, cost)
    const { rules } = this.#options
    const stacked = rules.isEmpty
      ? scope.stacked
      : scope.stacked.map((one) => ({ ...one, plan: rules.planFor(one.plan, inForce[0], false) }))
    return { ...this.#joint(countersOf(subjects, plans, { ...scope, stacked }), cost), subjects }
  }

  #joint(counters: readonly [Counter, ...Counter[]], cost: number): Request {
    const [{ subject, plan }] = counters
    const { begin, hide } = this.#options
    const keyed = counters.map((counter) => {
      const key = subjectKey(counter.subject, hide)
      const set = this.#setOf(counter.plan, counter.subject)
      return { ...counter, set, key: begin + key + counter.suffix, shard: shardOf(key, this.#shards) }
    })
    const limited = distinct(keyed).filter(({ set }) => set)
    const named = this.#names.of(limited)
    const parts = limited.map(({ key, shard, subject: owner, set, own, planName, place }, i): Part => {
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
    })
    const shard = parts[0]?.shard ?? 0
    const isLenient = parts.some(({ set }) => set.isLenient) ? true : undefined
    const request: Request = { subject, plan, cost, parts, limits: named.all, shard, grant: 'all', isLenient }
    const steps = stepsOf(request, this.#options.store.atomic ?? false)
    return steps ? { ...request, steps } : request
  }
}

function blockedRequest(subject: Subject, plan: Plan, cost: number, block?: BlockInForce): Request {
  const limits = NO_LIMITS
  return { subject, plan, cost, parts: NO_PARTS, limits, shard: 0, grant: 'all', isBlocked: true, block }
}

/** The plan of a subject that a rule blocks, which nobody looked up. */
const NOT_LOOKED_UP: Plan = { name: '', serial: newSerial(), limits: [], set: undefined, isBlocked: true }

function blockedByRule(subject: Subject, cost: number, block: BlockInForce): Request {
  const plan = isNone(subject.plan) ? NOT_LOOKED_UP : { ...NOT_LOOKED_UP, name: subject.plan }
  return blockedRequest(subject, plan, cost, block)
}

function hasBillingDay({ anchor, timeZone }: Subject): boolean {
  return !isNone(anchor) || !isNone(timeZone)
}

function setsOf(plans: Iterable<Plan>): LimitSet[] {
  return Array.from(plans, ({ set }) => set).filter((set) => set !== undefined)
}

function marksOf(key: string, plans: Iterable<Plan>): string[] {
  const names = Array.from(plans).flatMap(({ limits }) =>
    limits.flatMap(({ warnAt = [] }, i) => warnAt.map((share) => markName(limits, i, share))),
  )
  return [...new Set(names)].map((name) => markKey(key, name))
}
