import type { PlanOptions } from '../plans/plans.js'
import type { Store } from '../stores/contract.js'
import { needPolicyOption, type FailurePolicyOption } from '../plans/failure-policy.js'
import type { LocalOptions } from '../failure/local-limiter.js'
import type { PlanOf } from '../requests/plan-cache.js'
import type { PlanCacheOptions } from '../requests/plan-cache-options.js'
import { needOptions } from '../base/option-checks.js'
import { checkStore } from '../stores/store-check.js'
import { ConfigError } from '../base/errors.js'

export interface LimiterOptions extends PlanOptions {
  /** Where counts live: `redisStore(client)` shares them between processes. Default: this process's memory. */
  readonly store?: Store
  /**
   * What to answer while the store cannot: `local`: limit in this process; `open`: let requests pass; `closed`: deny
   * them with 503; or a function that chooses. A plan can have its own. Default: `local`.
   */
  readonly onStoreFailure?: FailurePolicyOption
  /** Options for limiting in this process while the store cannot answer. */
  readonly local?: LocalOptions
  /** The longest that a request waits for the store, in ms, from 1 to 60 000. Default: 100. */
  readonly deadlineMs?: number
  /**
   * Looks up the plan of subjects that name none, for example in a database. `planCache` says how long answers are
   * remembered. While a look-up fails, the previous answer is used, else the default plan.
   */
  readonly planOf?: PlanOf
  readonly planCache?: PlanCacheOptions
  /** Hashes ids before they reach the store: a secret of at least 16 characters, the same in all processes. */
  readonly hashIds?: string
  /** Whether to emit Node process warnings about likely mistakes. Default: true. */
  readonly warnings?: boolean
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
  'warnings',
]

/** @throws {ConfigError} when an option of a limiter is wrong; plans are checked elsewhere */
export function checkLimiterOptions(options: LimiterOptions): void {
  needOptions(options, LIMITER_OPTIONS)
  const { store, onStoreFailure, local, deadlineMs, planOf, planCache, hashIds, warnings } = options
  if (store !== undefined) checkStore(store, 'store')
  if (onStoreFailure !== undefined) needPolicyOption('onStoreFailure', onStoreFailure)
  if (local !== undefined) checkLocalOptions(local)
  if (
    deadlineMs !== undefined &&
    !(Number.isInteger(deadlineMs) && deadlineMs >= 1 && deadlineMs <= 60_000)
  ) {
    throw ConfigError.wrong('deadlineMs', deadlineMs, 'a whole number of ms from 1 to 60000')
  }
  if (planCache !== undefined && planOf === undefined) {
    throw ConfigError.wrong('planCache', planCache, 'none without planOf')
  }
  if (hashIds !== undefined && !(typeof hashIds === 'string' && hashIds.length >= 16)) {
    throw ConfigError.wrong('hashIds', typeof hashIds, 'a secret of at least 16 characters')
  }
  if (warnings !== undefined && typeof warnings !== 'boolean') {
    throw ConfigError.wrong('warnings', warnings, 'true or false')
  }
}

function checkLocalOptions(local: LocalOptions): void {
  needOptions(local, ['instances', 'maxSubjects'], 'local')
  const { instances = 1, maxSubjects = 1 } = local
  if (!(Number.isSafeInteger(instances) && instances >= 1 && instances <= 10_000)) {
    throw ConfigError.wrong('local.instances', instances, 'a whole number of processes from 1 to 10000')
  }
  if (!(Number.isSafeInteger(maxSubjects) && maxSubjects >= 1)) {
    throw ConfigError.wrong('local.maxSubjects', maxSubjects, 'a whole number from 1')
  }
}
