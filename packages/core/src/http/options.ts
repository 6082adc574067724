import { createHash } from 'node:crypto'
import { isOptions, givenOf } from '../base/options.js'
import type { MaybePromise } from '../base/promises.js'
import type { Decision } from '../limiter/decision/decision.js'
import type { Limiter } from '../limiter/limiter.js'
import { LIMITER_OPTIONS, type LimiterOptions } from '../limiter/options/limiter-options.js'
import type { LimitInput } from '../plans/limit/limit.js'
import type { OwnLimits } from '../plans/own-limits.js'
import { SCOPE_OPTIONS, type ScopeOptions } from '../requests/scope.js'
import type { ResponseEnd } from './adapter.js'
import type { DenialOptions } from './answers/denial.js'
import type { Passed } from './decisions.js'
import type { HeaderOptions } from './headers.js'
import type { ShedOption } from './shedding/shedder.js'
import type { Identify } from './who/identify.js'
import type { ListOption } from './who/lists.js'

/** The options of each adapter's `rateLimit`. `Req` and `Res` are the framework's request and response. */
export interface RateLimitOptions<Req = unknown, Res = unknown, Plans extends string = string>
  extends Omit<LimiterOptions<Plans>, 'limit'>, Omit<ScopeOptions, 'limit'>, DenialOptions {
  /**
   * The limits of the only plan; with `limiter`, the limits of this `group`. Or a function that returns the limits for a
   * request, which may be async. They hold for the subject that pays, in place of its plan and in the same counters, also
   * in a `group`. If it returns undefined, the subject's plan holds.
   *
   * @example limit: (req) => req.tenant.limits // ['40/min', '1000/day']
   */
  readonly limit?: LimitInput | readonly LimitInput[] | LimitOf<Req> | undefined
  /** A limiter to share, made by `createLimiter`. It replaces the options that would make one. */
  readonly limiter?: Limiter | undefined
  /** Who a request counts against. Default: the client's address, on the default plan. */
  readonly identify?: Identify<Req, NoInfer<Plans>> | undefined
  /** How many quota units a request takes: a whole number from 1, or a function that returns one. Default: 1. */
  readonly cost?: number | ((req: Req) => MaybePromise<number>) | undefined
  /** Returns true for requests that are not limited at all, such as health checks. */
  readonly skip?: ((req: Req) => MaybePromise<boolean>) | undefined
  /**
   * The methods that are limited, in upper case. GET includes HEAD. Default: all requests except CORS preflights, which
   * browsers send by themselves: OPTIONS with both `Origin` and `Access-Control-Request-Method`. For other requests
   * `identify` is not called, so a `blocked` plan does not stop them. A `blockList` of addresses does.
   */
  readonly methods?: readonly string[] | undefined
  /** Who is not limited at all: ids, client addresses and networks such as `10.0.0.0/8`, or a function. */
  readonly allowList?: ListOption<Req> | undefined
  /** Who always gets 403, written like `allowList`. A request that is on both lists is allowed. */
  readonly blockList?: ListOption<Req> | undefined
  /**
   * Gives a request's units back if it returns true, for example after an error or when a cache answered. Called when the
   * response is over. `status` is undefined if nothing was answered. Do not refund aborted requests: a client that always
   * disconnects early would never be limited.
   *
   * @example refundWhen: ({ status = 0 }) => status >= 500
   */
  readonly refundWhen?: ((end: ResponseEnd, req: Req, res: Res) => MaybePromise<boolean>) | undefined
  /**
   * Refuses requests with 503 while this process is overloaded, before they take any units. Plans are refused in this
   * order, and plans that are not named come last. Default: false, never.
   *
   * @example shed: ['free', 'starter']
   */
  readonly shed?: ShedOption<Req> | undefined
  /** Which rate limit headers to send; false for none. `Retry-After` of a denial is sent in any case. */
  readonly headers?: HeaderOptions | false | undefined
  /** Returns the body of a denial, in place of problem details: a string, or an object that is sent as JSON. */
  readonly body?: ((decision: Decision, req: Req) => unknown) | undefined
  /**
   * Answers a denied request instead of Tollgate. The rate limit headers are set already. So is the status: 429, 403 or
   * 503, and you can set another. `decision.reason` says why the request was denied. In Fastify the function can return
   * its answer, as handlers do.
   */
  readonly onDenied?: ((req: Req, res: Res, decision: Decision) => MaybePromise<unknown>) | undefined
  /**
   * The property that holds the decision: of the request, or in Koa of `ctx.state`. If a request passes several limiters,
   * give each its own name, or read all decisions with `decisionsOf`. Default: `rateLimit`.
   */
  readonly requestProperty?: string | undefined
  /**
   * Gives `decision` and `limited` events a second argument that describes the request: with true a `RequestContext`
   * (method, route and address), or what your function returns. Default: false.
   */
  readonly eventContext?: EventContextOption<Req> | undefined
}

/** Returns the limits for the subject that pays; undefined for those of its plan. */
export type LimitOf<Req> = (req: Req) => MaybePromise<OwnLimits | null | undefined>

/** The option `limit`, if it is a function of the request. */
export function limitFunction<Req>({ limit }: { readonly limit?: unknown }): LimitOf<Req> | undefined {
  return typeof limit === 'function' ? (limit as LimitOf<Req>) : undefined
}

/** What describes a request in `decision` and `limited` events, with `eventContext: true`. */
export interface RequestContext {
  /** The method in upper case. */
  readonly method: string
  /** The pattern of its route, such as `/items/:id`, if the framework knows it before the limiter runs. */
  readonly route: string | undefined
  /** The client's address, as found by the framework with its trust-proxy setting. */
  readonly address: string | undefined
}

/** True for a `RequestContext`, or a function that returns an object to describe the request. */
export type EventContextOption<Req> = boolean | ((req: Req) => object | undefined)

/** The options that a route can override: all except those that make the limiter. */
export type RouteOptions<Req, Res = unknown> = Omit<
  RateLimitOptions<Req, Res>,
  Exclude<keyof LimiterOptions, keyof ScopeOptions>
>

/** Picks the options that make a limiter. */
export function limiterOptions(options: RateLimitOptions<never, never>): LimiterOptions {
  return pick(options, limitFunction(options) ? NOT_LIMIT : LIMITER_OPTIONS)
}

const NOT_LIMIT = LIMITER_OPTIONS.filter((name) => name !== 'limit')

/**
 * Picks the options of a scope. Without a shared limiter, `limit` makes the limiter, so it is not an option of the
 * scope.
 */
export function scopeOptions({ limiter, ...options }: RateLimitOptions<never, never>): ScopeOptions {
  const hasOwn = limiter !== undefined && !limitFunction(options)
  return pick(options, hasOwn ? SCOPE_OPTIONS : ['group', 'stacked'])
}

/** The options of a route: its own, and for the rest those of the limiter around it. Both share one limiter. */
export function routeOptions<Req, Res>(
  outer: RateLimitOptions<Req, Res>,
  own: RouteOptions<Req, Res>,
  limiter: Limiter,
): RateLimitOptions<Req, Res> {
  const ofLimiter = limitFunction(outer) ? NOT_LIMIT : LIMITER_OPTIONS
  const isLimiters = (name: string): boolean => !outer.limiter && ofLimiter.includes(name)
  const shared = Object.entries(outer).filter(([name]) => !isLimiters(name))
  // A route's stacked limits are added to those around it. Anything but an object is refused where scopes are checked.
  const isBoth = outer.stacked !== undefined && isOptions(own.stacked)
  const stacked = isBoth && { stacked: { ...outer.stacked, ...own.stacked } }
  return { ...Object.fromEntries(shared), limiter, ...givenOf(own), ...stacked }
}

/**
 * The options of a route for requests that were let in. Unless the route says otherwise, the same subjects pay the same
 * cost.
 */
export function onTopOptions<Req extends object, Res>(
  outer: RateLimitOptions<Req, Res>,
  own: RouteOptions<Req, Res>,
  { limiter, firstFor }: { readonly limiter: Limiter; readonly firstFor: (req: Req) => Passed | undefined },
): RateLimitOptions<Req, Res> {
  const { skip, methods, allowList, blockList } = own
  const all = routeOptions(outer, own, limiter)
  const { identify = (req) => firstFor(req)?.subjects, cost = (req) => firstFor(req)?.decision.cost ?? 1 } =
    own
  const limit = limitFunction(all) ? limitFunction<Req>(own) : all.limit
  const whether = { skip, methods, allowList, blockList }
  return givenOf({ ...all, ...whether, identify, cost, limit })
}

function pick(options: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)))
}

/** The longest name of a group, in characters. */
const LONGEST = 32
const HASH = 10
/** No two paths of this form get the same name. */
const PLAIN = /^(?:\/:?[\w-]+)*$/

/**
 * Returns the name of the group that counts one route, such as `GET.reports..id`. A name that would be too long, or that
 * two routes could have, ends with a hash.
 *
 * @param methods the route's methods; HEAD counts as GET
 * @param pattern its path with any prefix, such as `/reports/:id`; a slash at the end makes no difference
 * @param more    what else distinguishes it from other routes, such as its host
 */
export function groupForRoute(methods: string | readonly string[], pattern: string, more = ''): string {
  const all = [methods].flat().map((method) => (method === 'HEAD' ? 'GET' : method))
  // One method is enough, since no other route has it on this path. A HEAD route that a framework adds counts with GET.
  const [method = ''] = all.includes('GET') ? ['GET'] : all.toSorted()
  const path = pattern.replace(/\/+$/, '')
  const name = method + path.replace(/[^\w-]/g, '.')
  if (more === '' && PLAIN.test(path) && name.length <= LONGEST) return name
  const hash = createHash('sha256')
    .update(JSON.stringify([method, path, more]))
    .digest('base64url')
  return `${name.slice(0, LONGEST - HASH - 1)}-${hash.slice(0, HASH)}`
}
