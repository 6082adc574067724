import { GenerationalCache } from '../base/caches.js'
import { show, TollgateError } from '../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../base/promises.js'
import type { Warn } from '../base/warnings.js'
import { type LimitSet, capacityOf } from '../plans/limit/limit-set.js'
import type { Limit } from '../plans/limit/limit.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import { shardOf, subjectKey, type HideId } from './key.js'
import type { PlanResolver } from './plan/plan-resolver.js'
import { type Part, type Request, takesSlots } from './request.js'
import { needSameLimit, type Counters, type Scope } from './scope.js'
import { asWritten } from './subject/address.js'
import { noSubject, needSubject, readSubject, readSubjects } from './subject/subject.js'

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
   * The plan that applies: the group's, if the group has its own limits and the subject is not blocked; otherwise the
   * subject's.
   */
  #planOf(subject: Subject, { plan }: Scope): MaybePromise<Plan> {
    const { plans } = this.#options
    if (!plan) return plans.find(subject)
    // If a group has its own limits, the subject's plan matters only if it is `blocked`. So it is looked up only if
    // some plan is.
    return plans.canBlock ? chain(plans.find(subject), (own) => (own.isBlocked ? own : plan)) : plan
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
      "An id is an IP address, so it counts as a client's address (IPv6 by its /64 network). If you mean that, write " +
        "identify: byIp(), or limiter.consume(subjectForIp(address)). If a tenant's id only looks like an address, write " +
        "{ id, kind: 'id' }.",
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

/** A counter that applies to a request. */
interface Counter {
  readonly subject: Subject
  readonly plan: Plan
  /** The subject's own plan, which sets the failure policy. */
  readonly own: Plan
  readonly suffix: string
  /** The first part of its limits' names; undefined for the plan of the subject that pays. */
  readonly label: string | undefined
  /** As in Part. */
  readonly planName: string | undefined
  readonly place: string | undefined
}

/** Every counter of a request: one per subject, then the stacked ones, which count against the first subject. */
function countersOf(
  subjects: readonly [Subject, ...Subject[]],
  plans: readonly Plan[],
  { suffix, stacked, plan: groupPlan, name: place }: Scope,
): [Counter, ...Counter[]] {
  const counters = subjects.map((subject, i): Counter => {
    const plan = plans[i] as Plan
    const label = i === 0 ? undefined : (subject.label ?? plan.name)
    return { subject, plan, own: plan, suffix, label, planName: groupPlan ? undefined : plan.name, place }
  })
  const [payer] = counters as [Counter, ...Counter[]]
  const onTop = stacked.map(({ plan, suffix: own }): Counter => ({
    ...payer,
    plan,
    suffix: own,
    label: plan.name,
    planName: undefined,
    place: plan.name,
  }))
  return [payer, ...counters.slice(1), ...onTop]
}

function distinct<Keyed extends Counter & { readonly key: string }>(counters: readonly Keyed[]): Keyed[] {
  return counters.filter((counter, i) => {
    const same = counters.findIndex(({ key }) => key === counter.key)
    if (same === i) return true
    if (counters[same]?.plan === counter.plan) return false
    const plans = `${show(counters[same]?.plan.name)} and ${show(counter.plan.name)}`
    const expected = 'each id once; if they are two subjects, write org:7 and user:7'
    throw new TollgateError(
      'ERR_TOLLGATE_SUBJECT',
      `subjects: got one id twice, on the plans ${plans}, expected ${expected}`,
    )
  })
}

/** One of several plans that apply to a request. */
interface Labelled {
  readonly plan: Plan
  /** The first part of its limits' names; undefined for the plan of the subject that pays. */
  readonly label: string | undefined
}

/** The limits of several plans under unique names: all together, and those of each plan. */
interface NamedLimits {
  readonly all: readonly Limit[]
  readonly ofEach: readonly (readonly Limit[])[]
}

/** Labels and limits may come from requests, and be endless. */
const MOST_COMBINATIONS = 2000

/**
 * Names the limits of plans that apply together. Caches the result, so that headers are written once, not per request.
 */
class LimitNames {
  readonly #known = new GenerationalCache<NamedLimits>(MOST_COMBINATIONS)

  of(plans: readonly Labelled[]): NamedLimits {
    const id = JSON.stringify(plans.flatMap(({ label, plan }) => [label, plan.serial]))
    const known = this.#known.refresh(id)
    if (known) return known
    const ofEach = nameApart(plans)
    const named = { ofEach, all: ofEach.flat() }
    this.#known.set(id, named)
    return named
  }
}

/** Makes names unique: `minute`, `guard.minute`, `guard.minute-2`. */
function nameApart(plans: readonly Labelled[]): Limit[][] {
  const taken = new Set<string>()
  return plans.map(({ label, plan: { limits } }) =>
    limits.map((limit) => {
      const wanted = label === undefined ? limit.name : `${label}.${limit.name}`
      let name = wanted
      for (let i = 2; taken.has(name); i += 1) name = `${wanted}-${i}`
      taken.add(name)
      return { ...limit, name }
    }),
  )
}

/**
 * Divides a request into steps: one per shard, or one per part if the store is not atomic. Returns undefined if one is enough.
 * First come steps that count requests in flight: such denials are never remembered, so behind other steps each request of a
 * flood would take units that go back, and leave an id. Then the smallest quota comes first: it is the most likely to deny,
 * and then nothing was taken from the others. Equal ones are sorted by key, so that requests of the same subjects take in the
 * same order and never block each other.
 */
export function stepsOf(request: Request, isAtomic: boolean): readonly Request[] | undefined {
  const { parts } = request
  if (parts.length < 2) return undefined
  const groups = isAtomic ? byShard(parts) : parts.map((part) => [part])
  if (groups.length < 2) return undefined
  return groups
    .map((group) => stepOf(request, group))
    .toSorted(
      (a, b) =>
        Number(takesSlots(b)) - Number(takesSlots(a)) ||
        roomOf(a.parts) - roomOf(b.parts) ||
        (keyOf(a) < keyOf(b) ? -1 : 1),
    )
}

function stepOf(request: Request, parts: readonly Part[]): Request {
  const [first] = parts as readonly [Part, ...Part[]]
  const limits = parts.length === 1 ? first.limits : parts.flatMap((part) => part.limits)
  return { ...request, parts, limits, shard: first.shard, steps: undefined }
}

function byShard(parts: readonly Part[]): Part[][] {
  const groups = new Map<number, Part[]>()
  for (const part of parts) {
    const group = groups.get(part.shard)
    if (group) group.push(part)
    else groups.set(part.shard, [part])
  }
  return [...groups.values()]
}

function keyOf({ parts }: Request): string {
  return (parts[0] as Part).key
}

/** The most units that one request can take; 0 if only requests in flight are counted, which takes none. */
function roomOf(parts: readonly Part[]): number {
  const room = Math.min(...parts.map(({ set }) => capacityOfSet(set)))
  return room === Infinity ? 0 : room
}

const capacities = new WeakMap<LimitSet, number>()

/** The most units that one request can take from these limits; Infinity if they count requests in flight only. */
function capacityOfSet(set: LimitSet): number {
  const known = capacities.get(set)
  if (known !== undefined) return known
  const now = Date.now()
  const counted = set.limits.filter((_, i) => i !== set.inFlightIndex)
  const capacity = Math.min(...counted.map((limit) => capacityOf(limit, now)))
  capacities.set(set, capacity)
  return capacity
}
