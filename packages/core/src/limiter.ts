import {
  decide,
  decideByPolicy,
  decideUnlimited,
  isOutcomeOf,
  takeRefund,
  type Consumption,
  type Decision,
} from './decision.js'
import { ConfigError, show, StoreError, toStoreError, TollgateError } from './errors.js'
import { Events, type LimiterEvents } from './events.js'
import { Guard } from './failure/guard.js'
import { needOptions } from './options.js'
import { compilePlans, type Plan, type PlanOptions, type Plans, type PlansInput } from './plan.js'
import { askNow, Batcher } from './stores/batcher.js'
import { memoryStore } from './stores/memory.js'
import type { MaybePromise, Store, StoreRequest } from './stores/store.js'
import { readSubject, subjectKey, type Subject } from './subject.js'

/** What is answered while the store cannot answer: let pass, or 503. */
export type FailurePolicy = 'open' | 'closed'

export interface LimiterOptions extends PlanOptions {
  /** Where counts live: `redisStore(client)`, shared by every process. Default: this process's memory. */
  readonly store?: Store
  /** What is answered while the store cannot answer. Default: `open`. */
  readonly onStoreFailure?: FailurePolicy
  /** How long a request waits for the store at most, in ms, from 1 to 60 000. Default: 100. */
  readonly deadlineMs?: number
}

export interface ConsumeOptions {
  /** Quota units this request takes: a whole number from 1. Default: 1. */
  readonly cost?: number
}

/** Holds subjects to their plans. One can serve many routes, frameworks, workers and websockets. */
export interface Limiter {
  /**
   * Takes `cost` units from every limit of the subject's plan, or nothing at all. A value where the answer is
   * known without asking anyone (memory store, unlimited plan), else a promise that is fulfilled within the
   * deadline, whatever the store does.
   *
   * @param subject who pays: an id, or `{ id, plan }`
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, ERR_TOLLGATE_COST, or ERR_TOLLGATE_CONFIG for an option that does
   *                         not exist, before anything is taken
   */
  consume(subject: Subject | string, options?: ConsumeOptions): MaybePromise<Decision>
  /** The decision that `consume` would give, taking nothing. Throws as `consume` does. */
  peek(subject: Subject | string, options?: ConsumeOptions): MaybePromise<Decision>
  /**
   * Gives the units of a decision back to every limit, as far as they have not come back by themselves. Once: a
   * second call gives nothing.
   *
   * @returns whether there was something to give back and the store did
   * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is not what `consume` returned, but a copy of it
   */
  refund(decision: Decision): Promise<boolean>
  /**
   * Forgets what the subject has used.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT; ERR_TOLLGATE_STORE or ERR_TOLLGATE_STORE_TIMEOUT when the store
   *                         did not
   */
  reset(subject: Subject | string): Promise<void>
  /**
   * Replaces all plans. They hold from the next request; units used in a window of the same length and algorithm
   * still count.
   *
   * @throws {ConfigError} when one is wrong; the plans then stay as they were
   */
  setPlans(plans: PlansInput, options?: { readonly defaultPlan?: string }): void
  /** @throws {ConfigError} when there is no such event, or the listener is no function; `off` does, too */
  on<Name extends keyof LimiterEvents>(event: Name, listener: (...args: LimiterEvents[Name]) => void): Limiter
  off<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter
  /** Lets go of the store once what is under way is answered. Later requests get the failure policy's answer. */
  close(): Promise<void>
}

const CONSUME_OPTIONS = ['cost']
const SET_PLANS_OPTIONS = ['defaultPlan']
export const LIMITER_OPTIONS: readonly string[] = [
  'store',
  'onStoreFailure',
  'deadlineMs',
  'plans',
  'limit',
  'defaultPlan',
]

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

/** A consumption of a plan that has limits. */
type LimitedConsumption = Consumption & StoreRequest

class StoreLimiter implements Limiter {
  readonly #events = new Events()
  readonly #store: Store
  readonly #batcher: Batcher<LimitedConsumption, Decision>
  readonly #policy: FailurePolicy
  #plans: Plans
  #closed = false

  constructor(options: LimiterOptions) {
    checkOptions(options)
    const { store = memoryStore(), onStoreFailure = 'open', deadlineMs = 100 } = options
    this.#plans = compilePlans(options)
    this.#policy = onStoreFailure
    const onFailure = (error: StoreError, requests: number): void =>
      this.#events.emit('storeError', error, requests)
    this.#store = store.immediate ? store : new Guard(store, { deadlineMs, onFailure })
    this.#batcher = new Batcher(this.#store, (request, given) => this.#answer(request, given, false))
  }

  consume(subject: Subject | string, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#request(subject, options)
    if (!isLimited(request)) return decideUnlimited(request)
    return this.#closed ? this.#answerClosed(request, false) : this.#batcher.consume(request)
  }

  peek(subject: Subject | string, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#request(subject, options)
    if (!isLimited(request)) return decideUnlimited(request)
    if (this.#closed) return this.#answerClosed(request, true)
    const answer = (given: unknown): Decision => this.#answer(request, given, true)
    if (this.#store.immediate) return answer(askNow(this.#store, 'peek', request))
    return Promise.resolve(this.#store.peek([request])).then(([given]) => answer(given), answer)
  }

  async refund(decision: Decision): Promise<boolean> {
    const request = takeRefund(decision)
    return request !== undefined && !this.#closed && this.#store.refund(request)
  }

  async reset(subject: Subject | string): Promise<void> {
    if (this.#closed) throw closedError()
    await this.#store.reset(subjectKey(needSubject(subject)))
  }

  setPlans(plans: PlansInput, options: { readonly defaultPlan?: string } = {}): void {
    needOptions(options, SET_PLANS_OPTIONS)
    this.#plans = compilePlans({ plans, ...options })
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

  async close(): Promise<void> {
    this.#closed = true
    await this.#store.close?.()
  }

  #request(given: Subject | string, options: ConsumeOptions | undefined): Consumption | LimitedConsumption {
    const subject = needSubject(given)
    const cost = options === undefined ? 1 : readCost(options)
    const plan = this.#planOf(subject)
    return { subject, plan, key: subjectKey(subject), set: plan.set, cost }
  }

  #planOf(subject: Subject): Plan {
    const { byName, fallback, hasDefault } = this.#plans
    const named = subject.plan !== undefined && subject.plan !== null
    const plan = named ? byName.get(subject.plan) : undefined
    if (plan) return plan
    if (named || !hasDefault) this.#events.emit('unknownPlan', subject, fallback.name)
    return fallback
  }

  #answer(request: LimitedConsumption, given: unknown, isPeek: boolean): Decision {
    if (isOutcomeOf(request, given)) return this.#tell(decide(request, given, isPeek), isPeek)
    // The guard has told of its own errors, once a batch.
    if (this.#store.immediate || !(given instanceof StoreError)) {
      this.#events.emit('storeError', given instanceof Error ? toStoreError(given) : notAnOutcome(given), 1)
    }
    return this.#answerByPolicy(request, isPeek)
  }

  #answerClosed(request: LimitedConsumption, isPeek: boolean): Decision {
    this.#events.emit('storeError', closedError(), 1)
    return this.#answerByPolicy(request, isPeek)
  }

  #answerByPolicy(request: LimitedConsumption, isPeek: boolean): Decision {
    return this.#tell(decideByPolicy(request, this.#policy), isPeek)
  }

  #tell(decision: Decision, isPeek: boolean): Decision {
    if (!decision.allowed && !isPeek) this.#events.emit('limited', decision)
    return decision
  }
}

function closedError(): StoreError {
  return new StoreError('the limiter was closed', { code: 'ERR_TOLLGATE_CLOSED' })
}

function notAnOutcome(given: unknown): StoreError {
  const expected = '{ at, limits } with { wait, remaining, reset } for each limit of the plan'
  return new StoreError(`the store answered a request with ${show(given)}, expected ${expected}`)
}

function isLimited(request: Consumption | LimitedConsumption): request is LimitedConsumption {
  return request.plan.set !== undefined
}

function needSubject(given: unknown): Subject {
  const subject = readSubject(given)
  if (subject) return subject
  throw new TollgateError(
    'ERR_TOLLGATE_SUBJECT',
    `subject: got ${show(given)}, expected an id that is not empty`,
  )
}

function readCost(options: ConsumeOptions): number {
  needOptions(options, CONSUME_OPTIONS)
  const { cost = 1 } = options
  if (Number.isSafeInteger(cost) && cost >= 1) return cost
  throw new TollgateError(
    'ERR_TOLLGATE_COST',
    `cost: got ${show(cost)}, expected a whole number of units from 1`,
  )
}

function checkOptions(options: LimiterOptions): void {
  needOptions(options, LIMITER_OPTIONS)
  const { store, onStoreFailure, deadlineMs } = options
  if (store !== undefined && typeof (store as Partial<Store> | null)?.consume !== 'function') {
    throw new ConfigError('store', store, 'redisStore(client) or memoryStore()')
  }
  if (onStoreFailure !== undefined && !['open', 'closed'].includes(onStoreFailure)) {
    throw new ConfigError('onStoreFailure', onStoreFailure, "'open' or 'closed'")
  }
  if (
    deadlineMs !== undefined &&
    !(Number.isInteger(deadlineMs) && deadlineMs >= 1 && deadlineMs <= 60_000)
  ) {
    throw new ConfigError('deadlineMs', deadlineMs, 'a whole number of ms from 1 to 60000')
  }
}
