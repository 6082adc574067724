import { atCaller } from '../base/errors.js'
import { isOptions, needBoolean, needOptions } from '../base/options.js'
import type { MaybePromise } from '../base/promises.js'
import { onceAMinute, keepSilent, warn, type Warn } from '../base/warnings.js'
import { type OwnBlock, Rules } from '../features/rules/rules.js'
import type { LimitDefaults } from '../plans/limit/limit.js'
import type { PlansInput } from '../plans/plans.js'
import type { Subject, SubjectOf } from '../plans/subject.js'
import { hideWith, keysOf } from '../requests/key.js'
import { PlanWarning, PlanResolver, type PlanResolverOptions } from '../requests/plan/plan-resolver.js'
import { RequestBuilder } from '../requests/request-builder.js'
import { COMMON, compileScope, type Scope, type ScopeOptions } from '../requests/scope.js'
import { needSubject, type Subjects } from '../requests/subject/subject.js'
import type { StoreAbilities } from '../stores/contract.js'
import { memoryStore, warnOfSeveralProcesses } from '../stores/memory/memory-store.js'
import type { Booking, PenalizeOptions, RenewOptions, TopUpOptions, Usage, UsageOptions } from './booking.js'
import type { Decision } from './decision/decision.js'
import { INTERNALS, type Internals } from './internals.js'
import type { ConsumeOptions, Consumer, Limiter, PeekOptions } from './limiter.js'
import { needFreeName, takeName } from './options/limiter-names.js'
import {
  checkLimiterOptions,
  failureOptions,
  warnOfUndefined,
  type LimiterOptions,
} from './options/limiter-options.js'
import { type ReserveOptions, ScopedConsumer } from './scoped-consumer.js'
import { needSupported } from './options/supported-plans.js'
import { OperatedLimiter } from './operated-limiter.js'
import { createFeatures } from './pipeline/features.js'
import { Pipeline, type PipelineOptions } from './pipeline/pipeline.js'
import { Events, type LimiterEvents } from './report/events.js'
import type { LimiterHealth, LimiterStats } from './report/stats.js'
import { Reporter, StoreWarning } from './report/reporter.js'
import type { Reservation } from './reservation.js'
import { Settling } from './settle/settlement.js'
import type { GivenPlans } from './traffic/given-plans.js'
import type { Inspector } from './traffic/questions.js'
import { TrafficCalls, type TrafficNeeds } from './traffic/traffic-calls.js'

/**
 * Creates a limiter, to use without HTTP or to share between adapters. Does no I/O.
 *
 * @throws {ConfigError} when an option is wrong
 * @example
 * const limiter = createLimiter({ plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] } })
 * const { allowed } = await limiter.consume({ id: 'acme', plan: 'pro' }, { cost: 5 })
 */
export function createLimiter<Plans extends string = string>(options: LimiterOptions<Plans>): Limiter<Plans> {
  return atCaller(createLimiter, () => new StoreLimiter(options))
}

/** What an adapter will do with a limiter. Checked before the limiter is made. */
export interface Uses {
  /** Whether subjects bring their limits, so that no plans need be given. */
  readonly isWithoutPlans?: boolean
  /** Set if no subject names a plan: who gets the default plan, in words for the error. */
  readonly defaultFor?: string
  /** Where it will count. */
  readonly scope?: ScopeOptions
  /** Throws when it needs a plan that does not exist. */
  readonly checkPlans?: (names: readonly string[]) => void
  /** Whether it limits what Tollgate itself offers: metrics do not count it, it has no rules, and need not be closed. */
  readonly isHidden?: boolean
}

/**
 * As createLimiter, for adapters. It also checks what they will do with the limiter, so that nothing has to be undone
 * when that is wrong.
 *
 * @throws {ConfigError} when an option is wrong, or a use is not possible. Nothing holds on to the store then
 */
export function createLimiterFor(options: LimiterOptions, uses: Uses): Limiter {
  return new StoreLimiter(options, uses)
}

class StoreLimiter extends OperatedLimiter implements Limiter {
  readonly #events: Events
  readonly #store: StoreAbilities
  readonly #defaults: LimitDefaults
  readonly #plans: PlanResolver
  readonly #rules: Rules
  readonly #traffic: TrafficCalls
  #given: GivenPlans
  readonly #builder: RequestBuilder
  readonly #pipeline: Pipeline
  readonly #common: ScopedConsumer
  readonly #settling: Settling
  readonly #freeName: () => void
  readonly [INTERNALS]: Internals

  constructor(options: LimiterOptions, uses: Uses = {}) {
    super()
    checkLimiterOptions(options)
    const { store = memoryStore(), name, hashIds, warnings = true } = options
    needFreeName(store, name)
    this.#store = store
    this.#defaults = { algorithm: store.defaultAlgorithm, mode: options.mode }
    const warnOf = warnings ? warn : keepSilent
    this.#events = new Events(this, warnOf, uses.isHidden)
    this.#plans = this.#resolve({ ...options, isWithoutPlans: uses.isWithoutPlans }, warnOf)
    this.#checkUses(uses, options)
    const hide = hashIds === undefined ? undefined : hideWith(hashIds)
    const [begin, plans] = [keysOf(name), this.#plans]
    const rules = (this.#rules = new Rules({ ...options, store, hide, plans, warn: warnOf }))
    this.#builder = new RequestBuilder({ plans, rules, hide, begin, store, warn: warnOf })
    // From here on the limiter holds on to the store until `close`. So everything that can be refused was refused above.
    this.#given = options
    const counts = !uses.isHidden && options.traffic !== false
    const traffic = { counts, store, hide, rules, name: rules.begin, warn: warnOf }
    this.#traffic = new TrafficCalls({ ...traffic, ...this.#forTraffic(options) })
    this.operate(rules.calls, this.#traffic)
    const failure = failureOptions(options)
    const warning = new StoreWarning(warnOf, failure.onStoreFailure)
    const reporter = new Reporter(this.#events, warning, this.#traffic.own)
    const given = { ...failure, ...this.#forPipeline(), store, begin, warn: warnOf }
    const features = createFeatures({ ...options, ...failure, store, rules })
    this.#pipeline = new Pipeline({ ...given, features }, reporter)
    this.#settling = new Settling(this.#pipeline)
    const common = { scope: COMMON, face: StoreLimiter.prototype }
    this.#common = new ScopedConsumer(this.#builder, this.#pipeline, common)
    this.#freeName = takeName(store, name)
    if (!uses.isHidden) this.#startRules()
    warnOfUndefined(options, warnOf)
    if (warnings) warnOfSeveralProcesses(store)
    this[INTERNALS] = this.#internals({ name, hide, warn: warnOf }, reporter)
  }

  /** @throws {ConfigError} when the store or an adapter cannot use the plans */
  #checkUses({ defaultFor, checkPlans, scope }: Uses, { limit }: LimiterOptions): void {
    if (defaultFor !== undefined) this.#plans.needDefault(defaultFor)
    for (const plan of this.#plans.plans)
      needSupported(this.#store, plan, limit === undefined ? `plans.${plan.name}` : 'limit')
    checkPlans?.(this.#plans.names)
    if (scope) this.#compile(scope)
  }

  #forPipeline(): Pick<PipelineOptions, 'blockOf' | 'areCounted'> {
    return {
      blockOf: (request) => this.#builder.blockOf(request),
      areCounted: () => this.#rules.countsInstances,
    }
  }

  #forTraffic({ planOf }: LimiterOptions): Pick<TrafficNeeds, 'plans' | keyof Inspector> {
    return {
      confirm: async (subject) =>
        planOf || this.#plans.names.length < 2
          ? this.#plans.confirm(subject).catch(() => undefined)
          : undefined,
      plans: () => this.#given,
      look: (subject, behindBlock) => this.#common.look([subject], behindBlock),
    }
  }

  #startRules(): void {
    this.#rules.start({
      instances: (count) => this.#pipeline.instancesAre(count),
      blockOf: (subject) => this.#ownBlockOf(subject),
      unblock: (subject) => this.#pipeline.unblock(this.#builder.keysOf(subject)),
      emit: (change, what) => {
        this.#traffic.ruleChanged(change, what)
        this.#pipeline.ruleChanged(change)
      },
      watched: (forMs) => this.#traffic.own?.watched(forMs),
      asked: (question, text) => this.#traffic.asked(question, text),
      rulesChanged: (what) =>
        this.#pipeline.rulesChanged(what === undefined ? undefined : this.#builder.keysUnder(what)),
    })
  }

  /** The block that the common counters of a subject began by themselves. */
  async #ownBlockOf(subject: Subject): Promise<OwnBlock | undefined> {
    const request = await this.#builder.build(subject, 1, { ...COMMON, ignoresBlocks: true })
    const { block } = await this.#pipeline.peek(request, { onStoreFailure: 'throw' })
    return block && { until: block.until, level: block.level as number }
  }

  #resolve(options: LimiterOptions & PlanResolverOptions, warnOf: Warn): PlanResolver {
    const warning = new PlanWarning(warnOf, options.hashIds !== undefined)
    const events = this.#events
    return new PlanResolver(
      { ...options, defaults: this.#defaults },
      {
        onPlanError: (error, subject) => events.emit('planError', error, subject),
        onUnknownPlan: (subject, used, names) => {
          events.emit('unknownPlan', subject, used)
          warning.tell(subject, used, names)
        },
        check: (plan, path) => needSupported(this.#store, plan, path),
        warn: warnOf,
      },
    )
  }

  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    return this.#common.consume(subjects, options)
  }

  peek(subjects: Subjects, options?: PeekOptions): MaybePromise<Decision> {
    return this.#common.peek(subjects, options)
  }

  reserve(subjects: Subjects, options: ReserveOptions): Promise<Reservation> {
    return this.#common.reserve(subjects, options)
  }

  refund(of: Decision | SubjectOf, units?: number): Promise<boolean> {
    if (isByKey(of, units)) return this.#common.refund(of, units as number)
    return this.#settling.refund(of as Decision)
  }

  settle(decision: Decision, cost: number): Promise<number> {
    return this.#settling.settle(decision, cost)
  }

  topUp(subject: Subject | string, options: TopUpOptions): Promise<Booking> {
    return this.#common.topUp(subject, options)
  }

  renew(subject: Subject | string, options: RenewOptions): Promise<Booking> {
    return this.#common.renew(subject, options)
  }

  penalize(subject: Subject | string, options: PenalizeOptions): Promise<Booking> {
    return this.#common.penalize(subject, options)
  }

  usageOf(subject: Subject | string, options: UsageOptions): Promise<Usage> {
    return this.#common.usageOf(subject, options)
  }

  async reset(subject: Subject | string): Promise<boolean> {
    return this.#pipeline.reset(this.#builder.keysOf(subject))
  }

  scope(options: ScopeOptions): Consumer {
    return atCaller(
      StoreLimiter.prototype.scope,
      () => new ScopedConsumer(this.#builder, this.#pipeline, { scope: this.#compile(options) }),
    )
  }

  #internals(given: Pick<Internals, 'name' | 'hide' | 'warn'>, reporter: Reporter): Internals {
    const scoped = (one: Consumer): ScopedConsumer => (one instanceof ScopedConsumer ? one : this.#common)
    return {
      ...given,
      warnRarely: onceAMinute(given.warn),
      canWait: () => this.#plans.canWait,
      planNames: () => this.#plans.names,
      plans: () => this.#plans.known,
      planOf: (subject) => this.#plans.nameOf(subject),
      onTop: (outer, own) => scoped(outer).under(scoped(own)),
      look: (consumer, subjects, behindBlock) => scoped(consumer).look(subjects, behindBlock),
      amend: (consumer, { first, subjects, options }) => scoped(consumer).amend(first, subjects, options),
      shed: (shed) => reporter.shed(shed),
    }
  }

  #compile(options: ScopeOptions): Scope {
    const scope = compileScope(options, this.#defaults)
    for (const { plan, path } of [scope, ...scope.stacked]) needSupported(this.#store, plan, path)
    return scope
  }

  setPlans(plans: PlansInput, options: { readonly defaultPlan?: string | undefined } = {}): void {
    atCaller(StoreLimiter.prototype.setPlans, () => {
      needOptions(options, ['defaultPlan'])
      this.#plans.setPlans({ plans, ...options }, (plan) =>
        needSupported(this.#store, plan, `plans.${plan.name}`),
      )
    })
    const { defaultPlan = this.#given.defaultPlan } = options
    this.#given = { ...this.#given, plans, limit: undefined, defaultPlan }
    this.#pipeline.plansChanged()
  }

  forgetPlan(subject: Subject | string): void
  forgetPlan(subject: Subject | string, options: { readonly everywhere: true }): Promise<void>
  forgetPlan(
    subject: Subject | string,
    options: { readonly everywhere?: boolean } = {},
  ): Promise<void> | undefined {
    const isEverywhere = atCaller(StoreLimiter.prototype.forgetPlan, () => {
      needOptions(options, ['everywhere'])
      needBoolean('everywhere', options.everywhere)
      this.#plans.forget(needSubject(subject))
      return options.everywhere
    })
    return isEverywhere ? this.#rules.calls.forgetPlan(subject) : undefined
  }

  on<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter {
    atCaller(StoreLimiter.prototype.on, () => this.#events.on(event, listener))
    return this
  }

  off<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter {
    atCaller(StoreLimiter.prototype.off, () => this.#events.off(event, listener))
    return this
  }

  stats(): LimiterStats {
    return this.#pipeline.stats()
  }

  health(): LimiterHealth {
    const rules = this.#rules.state
    return { ...this.#pipeline.health(), ...(rules && { rules }) }
  }

  async close(): Promise<void> {
    this.#freeName()
    await Promise.all([this.#pipeline.close(), this.#traffic.end()])
  }
}

/** Whether `refund` was given a subject, and not a decision. */
function isByKey(of: Decision | SubjectOf, units: number | undefined): of is SubjectOf {
  if (units !== undefined || typeof of === 'string') return true
  return isOptions(of) && 'id' in of
}
