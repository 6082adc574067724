import type { Decision } from './decision.js'
import { ConfigError } from '../base/errors.js'
import type { LimiterEvents } from './events.js'
import { needPolicyOption, type FailurePolicyOption } from '../plans/failure-policy.js'
import type { LocalOptions } from '../failure/local-limiter.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { needOptions } from '../base/option-checks.js'
import type { PlanCacheOptions, PlanOf } from '../requests/plan-cache.js'
import type { PlanOptions, PlansInput } from '../plans/plan.js'
import type { ScopeOptions } from '../requests/scope.js'
import type { LimiterHealth, LimiterStats } from './stats.js'
import { checkStore } from '../stores/store-check.js'
import type { Store } from '../stores/contract.js'
import type { Subjects } from '../requests/subject.js'
import type { Subject } from '../plans/subject.js'

export interface LimiterOptions extends PlanOptions {
  /** Where counts live: `redisStore(client)`, shared by every process. Default: this process's memory. */
  readonly store?: Store
  /**
   * What is answered while the store cannot answer: `local`, this process limits by itself; `open`, let pass; `closed`,
   * 503; or a function that chooses. A plan can have its own. Default: `local`.
   */
  readonly onStoreFailure?: FailurePolicyOption
  /** How this process limits by itself while the store cannot answer. */
  readonly local?: LocalOptions
  /** How long a request waits for the store at most, in ms, from 1 to 60 000. Default: 100. */
  readonly deadlineMs?: number
  /**
   * Finds the plan of subjects that come without one, such as in a database. Answers are remembered, as `planCache`
   * says; while a look-up fails the previous answer holds, and without one the default plan.
   */
  readonly planOf?: PlanOf
  readonly planCache?: PlanCacheOptions
  /** Keeps ids out of the store: a secret of at least 16 characters to hash them with, the same on every instance. */
  readonly hashIds?: string
}

export interface ConsumeOptions {
  /** Quota units this request takes: a whole number from 1. Default: 1. */
  readonly cost?: number
}

/** Decides requests, of the whole application or of one scope of it. */
export interface Consumer {
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
  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision>
  /** The decision that `consume` would give, taking nothing. Throws as `consume` does. */
  peek(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision>
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
export interface Limiter extends Consumer {
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
  scope(options: ScopeOptions): Consumer
  /**
   * Replaces all plans. They hold from the next request; units used in a window of the same length and algorithm
   * still count. The default plan stays, unless another is given, or there is none of its name.
   *
   * @throws {ConfigError} when one is wrong; the plans then stay as they were
   */
  setPlans(plans: PlansInput, options?: { readonly defaultPlan?: string }): void
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

export const LIMITER_OPTIONS: readonly string[] = [
  'store',
  'onStoreFailure',
  'local',
  'deadlineMs',
  'plans',
  'limit',
  'defaultPlan',
  'planOf',
  'planCache',
  'hashIds',
]

/** @throws {ConfigError} when an option of a limiter is wrong, other than its plans */
export function checkLimiterOptions(options: LimiterOptions): void {
  needOptions(options, LIMITER_OPTIONS)
  const { store, onStoreFailure, local, deadlineMs, planOf, planCache, hashIds } = options
  if (store !== undefined) checkStore(store, 'store')
  if (onStoreFailure !== undefined) needPolicyOption('onStoreFailure', onStoreFailure)
  if (local !== undefined) checkLocalOptions(local)
  if (
    deadlineMs !== undefined &&
    !(Number.isInteger(deadlineMs) && deadlineMs >= 1 && deadlineMs <= 60_000)
  ) {
    throw new ConfigError('deadlineMs', deadlineMs, 'a whole number of ms from 1 to 60000')
  }
  if (planCache !== undefined && planOf === undefined) {
    throw new ConfigError('planCache', planCache, 'none without planOf')
  }
  if (hashIds !== undefined && !(typeof hashIds === 'string' && hashIds.length >= 16)) {
    throw new ConfigError('hashIds', typeof hashIds, 'a secret of at least 16 characters')
  }
}

function checkLocalOptions(local: LocalOptions): void {
  needOptions(local, ['instances', 'maxSubjects'], 'local')
  const { instances = 1, maxSubjects = 1 } = local
  if (!(Number.isSafeInteger(instances) && instances >= 1 && instances <= 10_000)) {
    throw new ConfigError('local.instances', instances, 'a whole number of processes from 1 to 10000')
  }
  if (!(Number.isSafeInteger(maxSubjects) && maxSubjects >= 1)) {
    throw new ConfigError('local.maxSubjects', maxSubjects, 'a whole number from 1')
  }
}
