import { METHODS } from 'node:http'
import type { Decision } from '../limiter/decision.js'
import { ConfigError } from '../base/errors.js'
import { LIMITER_OPTIONS, type Limiter, type LimiterOptions } from '../limiter/limiter.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { isOptions, needOptions } from '../base/option-checks.js'
import { compilePlans } from '../plans/plan.js'
import { SCOPE_OPTIONS, type ScopeOptions } from '../requests/scope.js'
import type { ResponseEnd } from './adapter.js'
import type { HeaderOptions } from './headers.js'
import type { Identify } from './identify.js'
import type { ListOption } from './lists.js'

/** What every adapter takes. `Req` and `Res` are the framework's own. */
export interface RateLimitOptions<Req, Res = unknown> extends LimiterOptions, ScopeOptions {
  /** A limiter made by `createLimiter`, in place of its options, to share it. */
  readonly limiter?: Limiter
  /** Who pays. Default: the client's address, on the default plan. */
  readonly identify?: Identify<Req>
  /** Quota units a request takes: a whole number from 1, or a function. Default: 1. */
  readonly cost?: number | ((req: Req) => MaybePromise<number>)
  /** Requests that are not limited at all, such as health checks. */
  readonly skip?: (req: Req) => MaybePromise<boolean>
  /**
   * The methods that are limited; with GET also HEAD. Default: all, but for the preflights of CORS, which browsers send
   * unasked: OPTIONS with both `Origin` and `Access-Control-Request-Method`.
   */
  readonly methods?: readonly string[]
  /** Who is not limited at all: ids, client addresses and networks such as `10.0.0.0/8`, or a function. */
  readonly allowList?: ListOption<Req>
  /** Who gets 403. An entry on both lists is allowed. */
  readonly blockList?: ListOption<Req>
  /**
   * Whether a request gets its units back, once its response is over: true for one that failed or came from a cache, as
   * you like. For one that was aborted, a client that leaves early each time is not limited at all.
   */
  readonly refundWhen?: (end: ResponseEnd, req: Req, res: Res) => MaybePromise<boolean>
  /** Which headers tell clients where they stand; false: none. `Retry-After` of a denial is always sent. */
  readonly headers?: HeaderOptions | false
  /** `Retry-After` is up to so many ms later, at random, so that not all clients come back at once. Default: 0. */
  readonly retryJitterMs?: number
  /** The body of a denial in place of the problem details: text, or an object that is sent as JSON. */
  readonly body?: (decision: Decision, req: Req) => unknown
  /**
   * Answers a denied request in place of Tollgate. Headers are set by then, the status is not. `decision.reason`
   * tells a used up limit from a store that failed.
   */
  readonly onDenied?: (req: Req, res: Res, decision: Decision) => MaybePromise<unknown>
}

/** What one place of an application can have otherwise than the rest: all but what makes the limiter. */
export type PlaceOptions<Req, Res = unknown> = Omit<
  RateLimitOptions<Req, Res>,
  Exclude<keyof LimiterOptions, keyof ScopeOptions>
>

const HTTP_OPTIONS = [
  'limiter',
  'identify',
  'cost',
  'skip',
  'methods',
  'allowList',
  'blockList',
  'refundWhen',
  'headers',
  'retryJitterMs',
  'body',
  'onDenied',
  'group',
  'stacked',
]
const PLACE_OPTIONS = ['limit', ...HTTP_OPTIONS]
const FUNCTIONS = ['identify', 'skip', 'refundWhen', 'body', 'onDenied'] as const
const LONGEST_JITTER_MS = 3_600_000

/** Those that make a limiter. */
export function limiterOptions(options: LimiterOptions): LimiterOptions {
  return pick(options, LIMITER_OPTIONS)
}

/** Those that say where requests are counted. With a limiter of its own, `limit` is that one's. */
export function scopeOptions({ limiter, ...options }: RateLimitOptions<never, never>): ScopeOptions {
  return pick(options, limiter ? SCOPE_OPTIONS : ['group', 'stacked'])
}

/** The options of a place within another, which shares its limiter. */
export function placeOptions<Req, Res>(
  outer: RateLimitOptions<Req, Res>,
  own: PlaceOptions<Req, Res>,
  limiter: Limiter,
): RateLimitOptions<Req, Res> {
  const isLimiters = (name: string): boolean => !outer.limiter && LIMITER_OPTIONS.includes(name)
  const shared = Object.entries(outer).filter(([name]) => !isLimiters(name))
  return { ...Object.fromEntries(shared), limiter, ...own }
}

function pick(options: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)))
}

/** @throws {ConfigError} when an option is wrong that is neither a limiter's, a scope's nor a header's own */
export function checkHttpOptions<Req, Res>(options: RateLimitOptions<Req, Res>): void {
  needOptions(options, [...LIMITER_OPTIONS, ...HTTP_OPTIONS])
  const { limiter, cost, methods, retryJitterMs = 0, identify } = options
  for (const name of FUNCTIONS) {
    const given = options[name]
    if (given !== undefined && typeof given !== 'function') throw new ConfigError(name, given, 'a function')
  }
  if (cost !== undefined && typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost >= 1)) {
    throw new ConfigError('cost', cost, 'a whole number of units from 1, or a function that returns one')
  }
  if (methods !== undefined) checkMethods(methods)
  if (!(Number.isInteger(retryJitterMs) && retryJitterMs >= 0 && retryJitterMs <= LONGEST_JITTER_MS)) {
    throw new ConfigError(
      'retryJitterMs',
      retryJitterMs,
      `a whole number of ms from 0 to ${LONGEST_JITTER_MS}`,
    )
  }
  if (limiter !== undefined) checkShared(options, limiter)
  else if (!identify && !compilePlans(options).hasDefault) {
    throw new ConfigError(
      'defaultPlan',
      options.defaultPlan,
      'the plan of client addresses, since there is no identify',
    )
  }
}

/** @throws {ConfigError} when an option of a place is not one that it can have */
export function checkPlaceOptions(own: unknown): void {
  if (!isOptions(own)) throw new ConfigError('', own, 'an object of options')
  for (const [name, given] of Object.entries(own)) {
    if (PLACE_OPTIONS.includes(name) || !LIMITER_OPTIONS.includes(name)) continue
    throw new ConfigError(name, given, 'none here: it goes to the plugin, or where its limiter is made')
  }
  needOptions(own, PLACE_OPTIONS)
}

function checkMethods(given: unknown): void {
  if (!Array.isArray(given) || given.length === 0) {
    throw new ConfigError('methods', given, "a list of methods in upper case, such as ['POST']")
  }
  Array.from(given).forEach((method: unknown, i) => {
    if (METHODS.includes(method as string)) return
    throw new ConfigError(`methods[${i}]`, method, "a method in upper case, such as 'POST'")
  })
}

function checkShared<Req, Res>(options: RateLimitOptions<Req, Res>, limiter: Limiter): void {
  if (typeof (limiter as Partial<Limiter> | null)?.scope !== 'function') {
    throw new ConfigError('limiter', limiter, 'a limiter made by createLimiter')
  }
  const doubled = LIMITER_OPTIONS.find((name) => name !== 'limit' && name in options)
  if (doubled === undefined) return
  const given = (options as unknown as Record<string, unknown>)[doubled]
  throw new ConfigError(doubled, given, 'none: the limiter that was given has its own')
}
