import type { Decision } from './decision.js'
import type { LimiterEvents } from './events.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { ScopeOptions } from '../requests/scope.js'
import type { LimiterHealth, LimiterStats } from './stats.js'
import type { Subjects } from '../requests/subject.js'
import type { Subject } from '../plans/subject.js'
import type { PlansInput } from '../plans/plans.js'

export interface ConsumeOptions {
  /** Quota units this request takes: a whole number from 1. Default: 1. */
  readonly cost?: number
}

/** Decides requests, of the whole application or of one scope of it. */
export interface Consumer<Plans extends string = string> {
  /**
   * Takes `cost` units from every limit of the subject's plan, or nothing at all. With the memory store a value,
   * unless `planOf` is waited for; with Redis a promise, always, that is fulfilled within the deadline, whatever the
   * store does. A look-up by `planOf` comes before, and has a deadline of its own.
   *
   * @param subjects who pays: an id, or `{ id, plan }`; or several, such as a tenant and a user of it: all their
   *                 limits must have room, or nothing is taken of any
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, ERR_TOLLGATE_COST, or ERR_TOLLGATE_CONFIG for an option that does
   *                         not exist, before anything is taken
   */
  consume(subjects: Subjects<Plans>, options?: ConsumeOptions): MaybePromise<Decision>
  /** The decision that `consume` would give, taking nothing. Throws as `consume` does. */
  peek(subjects: Subjects<Plans>, options?: ConsumeOptions): MaybePromise<Decision>
  /**
   * Forgets what the subject has used: here, and for the whole application in all its scopes. A decision from before
   * that is refunded later can give back units that were taken after it.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT; ERR_TOLLGATE_STORE or ERR_TOLLGATE_STORE_TIMEOUT when the store
   *                         did not
   */
  reset(subject: Subject | string): Promise<void>
}

/** Holds subjects to their plans. One can serve many routes, frameworks, workers and websockets. */
export interface Limiter<Plans extends string = string> extends Consumer<Plans> {
  /**
   * Gives the units of a decision back to every limit, as far as they have not come back by themselves. Once: a
   * second call gives nothing.
   *
   * @returns whether there was something to give back and the store did. A store that was too late to say so may
   *          have given them all the same
   * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is not what `consume` returned, but a copy of it
   */
  refund(decision: Decision): Promise<boolean>
  /**
   * Sets what a request cost, once that is known: gives back what was too much, or takes what was too little, as far
   * as it fits. Once, in place of `refund`: a second call changes nothing.
   *
   * @param cost quota units, a whole number from 0
   * @returns the units that the request has taken in all: less those that went back, so its old cost when none did, since
   *          they had come back by themselves, or the store did not. 0 when nothing was taken, or counted
   * @throws {TollgateError} ERR_TOLLGATE_DECISION, or ERR_TOLLGATE_COST
   */
  settle(decision: Decision, cost: number): Promise<number>
  /**
   * The same plans and subjects, counted apart, or with limits of a route on top. Made once for each part of the
   * application, not at a request: its names are remembered for good.
   *
   * @throws {ConfigError} when an option is wrong
   * @example
   * const exports = limiter.scope({ stacked: { export: '5/min' } })
   * await exports.consume({ id: 'acme', plan: 'pro' })
   */
  scope(options: ScopeOptions): Consumer<Plans>
  /**
   * Replaces all plans. They hold from the next request; units used in a window of the same length and algorithm
   * still count. The default plan that was chosen stays, unless another is given.
   *
   * @throws {ConfigError} when one is wrong, or the default plan is not among them; the plans then stay as they were
   * @example limiter.setPlans({ basic: '100/min', pro: '3000/min' }, { defaultPlan: 'basic' })
   */
  setPlans<Names extends string>(
    plans: PlansInput<Names>,
    options?: { readonly defaultPlan?: NoInfer<Names> | undefined },
  ): void
  /** Asks `planOf` again at the subject's next request, such as after an upgrade. */
  forgetPlan(subject: Subject | string): void
  /** @throws {ConfigError} when there is no such event, or the listener is no function; `off` does, too */
  on<Name extends keyof LimiterEvents>(event: Name, listener: (...args: LimiterEvents[Name]) => void): Limiter
  off<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter
  /** What it has done since it was made: in this process. */
  stats(): LimiterStats
  /** Whether the store decides: for a readiness probe. Asks nobody. */
  health(): LimiterHealth
  /**
   * Lets go of the store, once what is under way is answered, and what was admitted while the store could not answer
   * is charged, if it answers now. Later requests get the failure policy's answer.
   */
  close(): Promise<void>
}
