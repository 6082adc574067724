import type { Decision } from './decision/decision.js'
import type { LimiterEvents } from './report/events.js'
import type { MaybePromise } from '../base/promises.js'
import type { ScopeOptions } from '../requests/scope.js'
import type { Reservation } from './reservation.js'
import type { ReserveOptions } from './scoped-consumer.js'
import type { LimiterHealth, LimiterStats } from './report/stats.js'
import type { Subjects } from '../requests/subject/subject.js'
import type { Subject, SubjectOf } from '../plans/subject.js'
import type { PlansInput } from '../plans/plans.js'

export interface ConsumeOptions {
  /** Quota units this request takes: a whole number from 1. Default: 1. */
  readonly cost?: number | undefined
  /**
   * Describes the request to listeners of `decision` and `limited`, as their second argument: an object, for example
   * with the name of a job. `peek` emits no events, so it does not use this.
   */
  readonly context?: object | undefined
  /**
   * On a plan with `wait`: when it aborts, the request leaves the line, its units go back, and `consume` rejects with the
   * signal's reason. A request that does not wait is not stopped by it. Aborted beforehand, it makes `consume` throw that reason, and
   * nothing is taken. `peek` never waits.
   */
  readonly signal?: AbortSignal | undefined
}

export interface PeekOptions extends ConsumeOptions {
  /**
   * `throw`: the store's error in place of the failure policy's answer, for a script that shows numbers. Without it, `source`
   * of a decision that the policy made says so, and its `limits` are empty.
   */
  readonly onStoreFailure?: 'throw' | undefined
}

/** Decides requests, for the whole application or for one scope of it. */
export interface Consumer<Plans extends string = string> {
  /**
   * Takes `cost` units from every limit of the subject's plan, or nothing at all. Write `await limiter.consume(...)`: what
   * comes is a promise or a value, so `.then` works with some stores only.
   *
   * With the memory store the decision is a value, unless `planOf` has to be waited for. With Redis it is
   * always a promise, which resolves within the deadline whatever the store does. A look-up by `planOf` comes first and
   * has a deadline of its own. On a plan with `wait`, a request that does not fit now resolves when its place has come,
   * within `maxDelay` of it, with any store.
   *
   * @param subjects who pays: an id, `{ id, plan }`, or several of these, such as a tenant and one of its users. All
   *                 their limits must have room, or nothing is taken from any
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, ERR_TOLLGATE_COST, or ERR_TOLLGATE_CONFIG for an unknown option;
   *                         nothing has been taken then
   */
  consume(subjects: Subjects<Plans>, options?: ConsumeOptions): MaybePromise<Decision>
  /**
   * Returns the decision that `consume` would, but takes nothing. Write `await` as for `consume`. Throws as `consume` does;
   * with `onStoreFailure: 'throw'` also a StoreError when the store does not answer within the deadline.
   *
   * @example
   * const { limits } = await limiter.peek('acme', { onStoreFailure: 'throw' })
   */
  peek(subjects: Subjects<Plans>, options?: PeekOptions): MaybePromise<Decision>
  /**
   * Holds `cost` units of every limit until the cost is known: nobody else can take them. Then `commit` counts what it was.
   * Never waits.
   *
   * @param options `cost`: the most that the request may cost; `for`: after which time the units come back by themselves
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, ERR_TOLLGATE_COST, or ERR_TOLLGATE_CONFIG for `for`, for an unknown option,
   *                         or for a store that cannot hold units; nothing is held then
   * @example
   * const held = await limiter.reserve({ id: 'acme', plan: 'pro' }, { cost: 4000, for: '2min' })
   * if (held.allowed) await held.commit(1312)
   */
  reserve(subjects: Subjects<Plans>, options: ReserveOptions): Promise<Reservation>
  /**
   * Gives up to `units` back to every limit of a subject, where the decision that took them is not at hand. The units that have counted
   * longest go back, and never more than are used. So the units that are meant should still count; in a
   * token bucket they may have drained in part. `limiter.refund(decision)` knows which they were, and works once.
   * Requests in flight are not given back.
   *
   * @param units a whole number from 1
   * @returns whether the store gave any units back. After false because of a slow store, it may still do so
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, or ERR_TOLLGATE_COST for `units`
   * @example await limiter.refund({ id: 'acme', plan: 'pro' }, 2)
   */
  refund(subject: SubjectOf<Plans>, units: number): Promise<boolean>
  /**
   * Forgets what a subject has used: in a scope, there; on the limiter, in the whole application with all scopes. Do
   * not refund decisions from before a reset: they can give back units that were taken after it.
   *
   * @param subject with the limits that it brings, if it brings any: Memcached forgets only the limits that it gets
   * @returns whether anything was there: false if the store knew nothing of the subject
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT; ERR_TOLLGATE_STORE or ERR_TOLLGATE_STORE_TIMEOUT when the store
   *                         failed
   */
  reset(subject: Subject | string): Promise<boolean>
}

/** Holds subjects to their plans. One limiter can serve many routes, frameworks, workers and websockets. */
export interface Limiter<Plans extends string = string> extends Consumer<Plans> {
  /**
   * Gives the units of a decision back to every limit, unless they have come back by themselves. Works once per
   * decision: a second call gives nothing.
   *
   * @returns whether the store gave any units back. After false because of a slow store, it may still have done so
   * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is not the object that `consume` returned, such as a copy
   */
  refund(decision: Decision): Promise<boolean>
  /** As of a scope: in the common counters. */
  refund(subject: SubjectOf<Plans>, units: number): Promise<boolean>
  /**
   * Sets the cost of a request once it is known: gives back what was too much, or takes what was too little, as far as
   * it fits. Works once per decision, instead of `refund`: a second call changes nothing.
   *
   * @param cost quota units, a whole number from 0
   * @returns the units that the request has taken in all. This is the old cost when no units were given back, because
   *          they had come back by themselves or the store failed. 0 when nothing was taken or counted
   * @throws {TollgateError} ERR_TOLLGATE_DECISION, or ERR_TOLLGATE_COST
   */
  settle(decision: Decision, cost: number): Promise<number>
  /**
   * The same plans and subjects with separate counters, or with additional limits for a route. Call it once for each
   * part of the application, never per request: the names are remembered for good.
   *
   * @throws {ConfigError} when an option is wrong
   * @example
   * const exports = limiter.scope({ stacked: { export: '5/min' } })
   * await exports.consume({ id: 'acme', plan: 'pro' })
   */
  scope(options: ScopeOptions): Consumer<Plans>
  /**
   * Replaces all plans of this limiter, in this process alone: call it in every process. It holds from the next request
   * on. Units used in a window of the same length and algorithm still count. A default plan that was chosen stays, unless
   * another is given.
   *
   * @throws {ConfigError} when a plan is wrong, or the default plan is not among them; the old plans then stay
   * @example limiter.setPlans({ basic: '100/min', pro: '3000/min' }, { defaultPlan: 'basic' })
   */
  setPlans<Names extends string>(
    plans: PlansInput<Names>,
    options?: { readonly defaultPlan?: NoInfer<Names> | undefined },
  ): void
  /**
   * Asks `planOf` again at the subject's next request, such as after an upgrade. In this process alone: others use the
   * plan that they remember for `planCache.ttlMs` more, and one request.
   */
  forgetPlan(subject: Subject | string): void
  /** @throws {ConfigError} when the event does not exist or the listener is not a function; so does `off` */
  on<Name extends keyof LimiterEvents>(event: Name, listener: (...args: LimiterEvents[Name]) => void): Limiter
  off<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter
  /** What this limiter has done since it was created, in this process. */
  stats(): LimiterStats
  /** Whether the store decides, for a readiness probe. Does no I/O. */
  health(): LimiterHealth
  /**
   * Waits until all pending requests are answered, charges the store for what was admitted without it, if it answers
   * now, and closes the store. The failure policy decides later requests.
   */
  close(): Promise<void>
}
