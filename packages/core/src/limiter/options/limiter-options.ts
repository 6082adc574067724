import { needMode, type LimitMode } from '../../plans/limit/observing-limit.js'
import type { PlanOptions } from '../../plans/plans.js'
import type { Store } from '../../stores/contract.js'
import { needPolicyOption, type FailurePolicyOption } from '../../plans/failure-policy.js'
import type { LocalOptions } from '../../failure/local/local-limiter.js'
import { needRememberOptions, type RememberOptions } from '../../features/denials/denials.js'
import type { PlanOf, PlanCacheOptions } from '../../requests/plan/plan-lookup.js'
import { needName } from '../../requests/scope.js'
import { needBoolean, needOptions, needSecret, type KnownOptions, isWhole } from '../../base/options.js'
import { checkStore } from '../../stores/store-check.js'
import { ConfigError } from '../../base/errors.js'
import { processWide, isSilent, type Warn } from '../../base/warnings.js'
import type { VerdictsOptions } from '../pipeline/verdicts.js'
import { errorOfKnown, errorOfWhole, remedyOf, findReplacement } from './option-remedies.js'

/** The options of `createLimiter`. The `rateLimit` of an adapter takes them, too. */
export interface LimiterOptions<Plans extends string = string> extends PlanOptions<Plans> {
  /** Where counts live. `redisStore(client)` shares them between processes. Default: this process's memory. */
  readonly store?: Store | undefined
  /**
   * Keeps this limiter's counters apart from those of other limiters on the same store (for Redis: the same client and
   * prefix). Each of them needs its own name; only one can do without. 1 to 32 letters, digits or `_.-`, which go into
   * all keys. Use the same names in every process. Default: none.
   */
  readonly name?: string | undefined
  /**
   * What happens while the store cannot answer. `local`: this process limits alone. `open`: requests pass. `closed`: they
   * are denied with 503. Or a function that chooses. A plan can have its own policy. Default: `local`.
   */
  readonly onStoreFailure?: FailurePolicyOption | undefined
  /** How this process limits alone while the store cannot answer. */
  readonly local?: LocalOptions | undefined
  /** The longest that a request waits for the store, in ms, from 1 to 60 000. Default: 100. */
  readonly deadlineMs?: number | undefined
  /**
   * How denials are remembered: this process repeats a denial by the store until the request can fit, so that a flood
   * hardly reaches the store. `false`: every request asks the store. Not used with a memory store.
   */
  readonly denials?: false | RememberOptions | undefined
  /**
   * Looks up the plan of subjects that name none, for example in a database. `planCache` sets how long answers are
   * remembered. If a look-up fails, the previous answer is used, or the default plan if there is none.
   */
  readonly planOf?: PlanOf | undefined
  /** How long answers of `planOf` are remembered, and how long a request waits for one. */
  readonly planCache?: PlanCacheOptions | undefined
  /**
   * `observe`: limits deny nothing. Each decision says in `observed` which limits would have denied, and the event `observed` is emitted.
   * Blocks and `blocked` plans still deny. A plan or a limit can have its own mode. Default: `enforce`.
   */
  readonly mode?: LimitMode | undefined
  /** A secret to hash ids with before they reach the store: at least 16 characters, the same in all processes. */
  readonly hashIds?: string | undefined
  /**
   * Whether this limiter counts its requests by subject, for `limiter.traffic` and `limiter.denialLog`. With Redis, it writes the figures
   * there every 10 s. Default: true.
   */
  readonly traffic?: boolean | undefined
  /**
   * Whether this limiter emits Node process warnings about likely mistakes. Warnings about a Redis client or server and
   * about unverified tokens are emitted in any case. With false, `identify` is never called again after a response to find
   * out whether it is called too early. Default: true.
   */
  readonly warnings?: boolean | undefined
}

export const LIMITER_OPTIONS: readonly string[] = [
  'store',
  'name',
  'onStoreFailure',
  'local',
  'deadlineMs',
  'denials',
  'plans',
  'limit',
  'defaultPlan',
  'planOf',
  'planCache',
  'mode',
  'hashIds',
  'traffic',
  'warnings',
]

/** The options of an adapter's rateLimit that have no meaning without an HTTP request. */
export const ONLY_HTTP_OPTIONS: readonly string[] = [
  'limiter',
  'identify',
  'skip',
  'methods',
  'allowList',
  'blockList',
  'refundWhen',
  'shed',
  'headers',
  'retryJitterMs',
  'body',
  'onDenied',
  'maxRetryAfterMs',
  'namePlan',
  'blockedStatus',
  'nameReason',
  'references',
  'eventContext',
  'requestProperty',
]

const OF_CONSUME = 'pass it to limiter.consume(subject, { cost })'
const OF_SUBJECT =
  "pass it with the subject: limiter.consume({ id: 'acme', plan: 'pro' }), or look it up: planOf: ({ id }) => ..."
const OF_SCOPE = "pass it to limiter.scope({ group: 'search' }), or to an adapter's rateLimit"

const KNOWN: KnownOptions = {
  names: LIMITER_OPTIONS,
  example: "{ limit: '100/min' }",
  errorOf: errorOfKnown,
  errorOfWhole,
  remedyOf(name) {
    const option = findReplacement(name) ?? name
    if (option === 'cost') return OF_CONSUME
    if (option === 'group' || option === 'stacked') return OF_SCOPE
    const remedy = remedyOf(name)
    if (remedy === remedyOf('plan') && remedy !== undefined) return OF_SUBJECT
    if (!ONLY_HTTP_OPTIONS.includes(option)) return remedy
    const goes = option === name ? 'pass it to' : `${remedy}, an option of`
    return `${goes} an adapter's rateLimit: rateLimit({ limiter, ${option} })`
  },
}

/** What to write instead of an option that a route cannot have. */
export function findRouteRemedy(name: string): string | undefined {
  if (LIMITER_OPTIONS.includes(name)) {
    return `pass it where the limiter is made: rateLimit({ ${name} }), app.register(rateLimit, { ${name} }) or createLimiter({ ${name} })`
  }
  const option = findReplacement(name) ?? 'limit'
  const isOfAll = option !== 'limit' && LIMITER_OPTIONS.includes(option)
  return isOfAll ? `${remedyOf(name)}, where the limiter is made` : remedyOf(name)
}

/** @throws {ConfigError} when an option of a limiter is wrong; plans are checked elsewhere */
export function checkLimiterOptions(options: LimiterOptions): void {
  needOptions(options, KNOWN)
  if (typeof options.limit === 'function') throw functionOfRequest()
  const { store, name, onStoreFailure, local, deadlineMs, denials, planOf, planCache, hashIds } = options
  if (options.mode !== undefined) needMode(options.mode, 'mode')
  if (store !== undefined) checkStore(store, 'store')
  if (name !== undefined) needName('name', name)
  if (onStoreFailure !== undefined) needPolicyOption('onStoreFailure', onStoreFailure)
  if (local !== undefined) checkLocalOptions(local)
  if (deadlineMs !== undefined && !isWhole(deadlineMs, 1, 60_000)) {
    throw ConfigError.wrong('deadlineMs', deadlineMs, 'a whole number of ms from 1 to 60000')
  }
  if (denials !== undefined) needRememberOptions('denials', denials)
  if (planCache !== undefined && planOf === undefined) {
    throw new ConfigError(
      'planCache',
      'it caches the answers of planOf, and there is no planOf: set both or neither',
    )
  }
  if (hashIds !== undefined) needSecret('hashIds', hashIds, 'process.env.ID_SECRET')
  for (const name of ['traffic', 'warnings'] as const) needBoolean(name, options[name])
}

/** What happens if an option's value is missing, such as an unset environment variable, and how to say that this is meant. */
const LOST = {
  store: 'each process counts in its own memory. If you mean that, write store: memoryStore()',
  hashIds: 'ids reach the store as they are. If you mean that, leave hashIds out',
}

/** Warns of each option that was given as undefined and whose default protects less. Once per process. */
export function warnOfUndefined(options: LimiterOptions, warn: Warn): void {
  if (isSilent(warn)) return
  const warned = processWide('options warned of as undefined', () => new Set<string>())
  for (const [name, lost] of Object.entries(LOST)) {
    if (!Object.hasOwn(options, name) || options[name as keyof typeof LOST] !== undefined) continue
    if (warned.has(name)) continue
    warned.add(name)
    warn('TOLLGATE_UNDEFINED', `The option ${name} is undefined, so ${lost}.`)
  }
}

function functionOfRequest(): ConfigError {
  const own = "without HTTP a subject brings its limits: limiter.consume({ id, limits: ['40/min'] })"
  return new ConfigError('limit', `pass a function of the request to an adapter's rateLimit; ${own}`)
}

function checkLocalOptions(local: LocalOptions): void {
  needOptions(local, ['instances', 'maxSubjects'], 'local')
  const { instances = 1, maxSubjects = 1 } = local
  if (!isWhole(instances, 1, 10_000)) {
    throw ConfigError.wrong('local.instances', instances, 'a whole number of processes from 1 to 10000')
  }
  if (!isWhole(maxSubjects, 1)) {
    throw ConfigError.wrong('local.maxSubjects', maxSubjects, 'a whole number from 1, such as 10000')
  }
}

/** The options for store failures, with defaults. */
export function failureOptions(
  options: LimiterOptions,
): Pick<VerdictsOptions, 'onStoreFailure' | 'local' | 'deadlineMs'> {
  const { onStoreFailure = 'local', local = {}, deadlineMs = 100 } = options
  return { onStoreFailure, local, deadlineMs }
}
