import type { Decision } from '../limiter/decision.js'
import type { Limiter } from '../limiter/limiter.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { SCOPE_OPTIONS, type ScopeOptions } from '../requests/scope.js'
import type { Identify } from './identify.js'
import type { ListOption } from './lists.js'
import { LIMITER_OPTIONS, type LimiterOptions } from '../limiter/limiter-options.js'
import type { HeaderOptions } from './header-options.js'
import type { ResponseEnd } from './adapter.js'
import type { DenialOptions } from './answer.js'
import type { EventContextOption } from './event-context.js'

/** What every adapter takes. `Req` and `Res` are the framework's own. */
export interface RateLimitOptions<Req, Res = unknown, Plans extends string = string>
  extends LimiterOptions<Plans>, ScopeOptions, DenialOptions {
  /** A limiter made by `createLimiter`, in place of its options, to share it. */
  readonly limiter?: Limiter
  /** Who pays. Default: the client's address, on the default plan. */
  readonly identify?: Identify<Req, NoInfer<Plans>>
  /** Quota units a request takes: a whole number from 1, or a function. Default: 1. */
  readonly cost?: number | ((req: Req) => MaybePromise<number>)
  /** Requests that are not limited at all, such as health checks. */
  readonly skip?: (req: Req) => MaybePromise<boolean>
  /**
   * The methods that are limited; with GET also HEAD. Default: all, but for the preflights of CORS, which browsers send
   * unasked: OPTIONS with both `Origin` and `Access-Control-Request-Method`. Of a request by another method nobody asks
   * who it is, so a `blocked` plan does not hold there; a `blockList` of addresses does.
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
  /** The body of a denial in place of the problem details: text, or an object that is sent as JSON. */
  readonly body?: (decision: Decision, req: Req) => unknown
  /**
   * Answers a denied request in place of Tollgate. Headers are set by then, the status is not. `decision.reason`
   * tells a used up limit from a store that failed.
   */
  readonly onDenied?: (req: Req, res: Res, decision: Decision) => MaybePromise<unknown>
  /**
   * The name that the decision has on the request, or in Koa on `ctx.state`. Give each limiter that a request passes
   * another, or read them all with `decisionsOf`. Default: `rateLimit`.
   */
  readonly requestProperty?: string
  /**
   * What listeners of `decision` and `limited` are told of the request, as a second argument: with true its method,
   * route and address, as `RequestContext`; or what a function makes of it. Default: false, nothing.
   */
  readonly eventContext?: EventContextOption<Req>
}

/** What one place of an application can have otherwise than the rest: all but what makes the limiter. */
export type PlaceOptions<Req, Res = unknown> = Omit<
  RateLimitOptions<Req, Res>,
  Exclude<keyof LimiterOptions, keyof ScopeOptions>
>

/** Of all options those that make a limiter. */
export function limiterOptions(options: LimiterOptions): LimiterOptions {
  return pick(options, LIMITER_OPTIONS)
}

/** Of all options those that say where requests are counted. Without a shared limiter `limit` makes the limiter instead. */
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
