import type { Consumption } from './consumption.js'
import { needCost } from './cost.js'
import { noteTaken, settleDecision, takenBy, type Decision, type Settlement } from './decision.js'
import { Decider } from './decider.js'
import { Events, type LimiterEvents } from './events.js'
import type { LimiterHealth, LimiterStats } from './stats.js'
import {
  checkLimiterOptions,
  type ConsumeOptions,
  type Consumer,
  type Limiter,
  type LimiterOptions,
} from './limiter.js'
import { chain, type MaybePromise } from './maybe-promise.js'
import { needOptions } from './options.js'
import type { PlansInput } from './plan.js'
import { Planner } from './planner.js'
import { COMMON, compileScope, type Scope, type ScopeOptions } from './scope.js'
import { hideWith, type HideId, type Subject, type Subjects } from './subject.js'

/**
 * Under which a limiter has what hides its ids, for what tells ids to others. A registered symbol, since a process that
 * loads both builds of core has the class twice.
 */
const HIDE_ID = Symbol.for('tollgate.hideId')

/** What hides the ids of a limiter; undefined without `hashIds`. */
export function hiderOf(limiter: Limiter): HideId | undefined {
  return (limiter as { readonly [HIDE_ID]?: HideId })[HIDE_ID]
}

/**
 * Makes a limiter, to be used without HTTP or shared by several adapters. Does no I/O.
 *
 * @throws {ConfigError} when an option is wrong: a request never meets that error
 * @example
 * const limiter = createLimiter({ plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] } })
 * const { allowed } = await limiter.consume({ id: 'acme', plan: 'pro' }, { cost: 5 })
 */
export function createLimiter(options: LimiterOptions): Limiter {
  return new StoreLimiter(options)
}

/** One place of the application where requests are counted. */
class ScopedConsumer implements Consumer {
  readonly #planner: Planner
  readonly #decider: Decider
  readonly #scope: Scope

  constructor(planner: Planner, decider: Decider, scope: Scope) {
    this.#planner = planner
    this.#decider = decider
    this.#scope = scope
    planner.add(scope)
  }

  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#planner.plan(subjects, readCost(options), this.#scope)
    return chain(request, (planned) => this.#decider.consume(planned))
  }

  peek(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#planner.plan(subjects, readCost(options), this.#scope)
    return chain(request, (planned) => this.#decider.peek(planned))
  }

  async reset(subject: Subject | string): Promise<void> {
    await this.#decider.reset(this.#planner.keysOf(subject, this.#scope))
  }
}

class StoreLimiter implements Limiter {
  readonly #events = new Events(this)
  readonly #planner: Planner
  readonly #decider: Decider
  readonly #common: Consumer
  readonly [HIDE_ID]: HideId | undefined

  constructor(options: LimiterOptions) {
    checkLimiterOptions(options)
    this.#planner = new Planner(options, this.#events)
    this.#decider = new Decider(options, this.#events)
    this.#common = new ScopedConsumer(this.#planner, this.#decider, COMMON)
    const { hashIds } = options
    this[HIDE_ID] = hashIds === undefined ? undefined : hideWith(hashIds)
  }

  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    return this.#common.consume(subjects, options)
  }

  peek(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    return this.#common.peek(subjects, options)
  }

  async refund(decision: Decision): Promise<boolean> {
    const settlement = settleDecision(decision, 0, this.#decider)
    const isGiven = settlement !== undefined && (await this.#decider.refund(settlement))
    if (isGiven) noteTaken(decision, 0)
    return isGiven
  }

  async settle(decision: Decision, cost: number): Promise<number> {
    needCost(cost, 0)
    const settlement = settleDecision(decision, cost, this.#decider)
    if (settlement) noteTaken(decision, await this.#settle(settlement, cost))
    return takenBy(decision)
  }

  /** Resolves with the units that were taken in all. */
  async #settle(settlement: Settlement, cost: number): Promise<number> {
    const { request, units } = settlement
    if (units > 0) return (await this.#decider.refund(settlement)) ? cost : request.cost
    if (cost === request.cost) return cost
    return request.cost + (await this.#takeMore(request, cost - request.cost))
  }

  /** As many more units as fit; resolves with how many those were. */
  async #takeMore(request: Consumption, wanted: number, tries = MOST_TRIES): Promise<number> {
    const { limits } = await this.#decider.peek({ ...request, cost: 1 })
    if (limits.length === 0) return 0
    const cost = Math.min(wanted, ...limits.map(({ remaining }) => remaining))
    if (cost === 0) return 0
    const also = request.also?.map((ask) => ({ ...ask, cost }))
    const { source, allowed } = await this.#decider.consume({ ...request, cost, also })
    if (source !== 'store') return 0
    if (allowed) return cost
    // Others have taken some in the meantime.
    return tries > 1 ? this.#takeMore(request, wanted, tries - 1) : 0
  }

  async reset(subject: Subject | string): Promise<void> {
    await this.#decider.reset(this.#planner.keysOf(subject))
  }

  scope(options: ScopeOptions): Consumer {
    return new ScopedConsumer(this.#planner, this.#decider, compileScope(options))
  }

  setPlans(plans: PlansInput, options: { readonly defaultPlan?: string } = {}): void {
    needOptions(options, ['defaultPlan'])
    this.#planner.setPlans({ plans, ...options })
  }

  forgetPlan(subject: Subject | string): void {
    this.#planner.forgetPlan(subject)
  }

  on<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter {
    this.#events.on(event, listener)
    return this
  }

  off<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter {
    this.#events.off(event, listener)
    return this
  }

  stats(): LimiterStats {
    return this.#decider.stats()
  }

  health(): LimiterHealth {
    return this.#decider.health()
  }

  async close(): Promise<void> {
    await this.#decider.close()
  }
}

/** How often what fits is looked at while others take of it. */
const MOST_TRIES = 8

const CONSUME_OPTIONS = ['cost']

function readCost(options: ConsumeOptions | undefined): number {
  if (options === undefined) return 1
  needOptions(options, CONSUME_OPTIONS)
  const { cost = 1 } = options
  needCost(cost, 1)
  return cost
}
