import {
  RATE_LIMIT_HEADERS,
  type Decision,
  type Limiter,
  type RateLimitOptions,
  type RouteOptions,
  type UsageRouteOptions,
} from '@tollgate/core'
import {
  atCaller,
  createHttpLimiter,
  createUsage,
  hasLeft,
  noteHttp,
  onResponseEnd,
  toThrown,
  type HttpAdapter,
  type HttpLimiter,
} from '@tollgate/core/adapter'
import type { Context, Middleware, Response } from 'koa'

export * from '@tollgate/core'

declare module 'koa' {
  interface DefaultState {
    /** Tollgate's decision on this request; undefined if it was not limited. */
    rateLimit?: Decision
  }
}

const koa: HttpAdapter<Context, Response> = {
  framework: 'Koa',
  mounting: "app.use(rateLimit({ limit: '100/min' }))",
  trustSetting: 'new Koa({ proxy: true, maxIpsCount: 1 })',
  method: (ctx) => ctx.method,
  header: (ctx, name) => ctx.headers[name]?.toString(),
  ip: (ctx) => ctx.ip,
  hasLeft: (ctx) => hasLeft(ctx.socket),
  trustsProxy: (ctx) => ctx.app.proxy,
  // With another proxyIpHeader, clients cannot choose their address: a proxy that uses such a header always sets it itself.
  trustsAll: ({ app }) => app.proxy && !(app.maxIpsCount > 0) && app.proxyIpHeader === 'X-Forwarded-For',
  route: routeOf,
  attach: (ctx, decision, property) => void (ctx.state[property] = decision),
  isSent: (response) => response.headerSent,
  getHeader: (response, name) => response.res.getHeader(name)?.toString(),
  // Koa's `set` checks again whether headers were sent.
  setHeader: (response, name, value) => void response.res.setHeader(name, value),
  removeHeader: (response, name) => response.res.removeHeader(name),
  setStatus: (response, status) => {
    const before = response.status
    response.status = status
    // Koa also sets the status text, which would stay if the application set the status on Node's response. HTTP/2 has none.
    if (response.req.httpVersionMajor < 2) response.message = ''
    return before
  },
  end: (response, { status, contentType, body }) => {
    // Earlier middleware may have set this to false, to answer through Node's response itself.
    response.ctx.respond = true
    response.status = status
    // Not `response.type`, which adds a charset to some media types.
    response.set('Content-Type', contentType)
    response.body = body
  },
  onEnd: (response, listener) => onResponseEnd(response.res, listener),
}

/** While its middleware runs, @koa/router stores the pattern of the matched route in `_matchedRoute`. */
function routeOf({
  _matchedRoute: route,
}: Context & { readonly _matchedRoute?: string | RegExp }): string | undefined {
  return route === undefined ? undefined : String(route)
}

/**
 * When Koa answers an error, it replaces all response headers with `error.headers`. So ours are added to the error while Koa
 * answers. They are removed afterwards, since the same error object may be thrown for other clients.
 */
function keepHeaders(ctx: Context, more: readonly string[] = []): void {
  const answer = ctx.onerror
  ctx.onerror = (error: Error & { headers?: object }) => {
    const { response } = ctx
    if (!(error instanceof Error) || response.headerSent) return answer.call(ctx, error)
    const kept: Record<string, string> = {}
    for (const name of [...RATE_LIMIT_HEADERS, 'Access-Control-Expose-Headers', ...more]) {
      const value = response.res.getHeader(name)
      if (value !== undefined) kept[name] = value.toString()
    }
    const own = Object.getOwnPropertyDescriptor(error, 'headers')
    // Does nothing if the error is frozen; an assignment would throw.
    Reflect.set(error, 'headers', { ...kept, ...error.headers })
    try {
      answer.call(ctx, error)
    } finally {
      if (own) Reflect.defineProperty(error, 'headers', own)
      else Reflect.deleteProperty(error, 'headers')
    }
  }
}

/** What `rateLimit` returns: middleware, with its limiter and a method for routes with other options. */
export type RateLimitMiddleware<Plans extends string = string> = Middleware & {
  /** The middleware's limiter: for events, `reset`, `setPlans` and `close`. */
  readonly limiter: Limiter<Plans>
  /**
   * Makes middleware for a route that costs more, has limits on top, or counts in another group. Declare the route above
   * `app.use(limit)`: then each request is decided once, with the route's options, and `limit` does not count it again. Below
   * it, `limit` has already taken units, and the route takes what is missing. If that does not fit, the request is denied and
   * all its units go back.
   *
   * @throws {ConfigError} when an option is wrong
   * @example
   * router.post('/export', limit.route({ cost: 10 }), handler)
   * router.post('/login', limit.route({ stacked: { login: '5/min' } }), handler)
   * app.use(router.routes())
   * app.use(limit) // the routers of all other routes follow
   */
  route(options: RouteOptions<Context, Response>): Middleware
}

/**
 * Makes middleware for Koa 2 and 3 that limits each subject by its plan. A request over its limits is answered with 429. The
 * decision is in `ctx.state.rateLimit`. Errors thrown by `identify`, `cost`, `skip` or `onDenied` go to Koa's error handling.
 *
 * @throws {ConfigError} when an option is wrong. This call throws it, never a request
 * @example
 * app.use(rateLimit({
 *   plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
 *   identify: ({ state: { user } }) => user && { id: user.id, plan: user.plan },
 *   store: redisStore(redis), // your client, with the settings from docs/operations/redis.md
 * }))
 */
export function rateLimit<Plans extends string = string>(
  options: RateLimitOptions<Context, Response, Plans>,
): RateLimitMiddleware<Plans> {
  const http = atCaller(rateLimit, () => createHttpLimiter(koa, options))
  const { limiter } = http
  const route = (own: RouteOptions<Context, Response>): Middleware =>
    middlewareOf(atCaller(route, () => http.route(own, 'route')))
  return Object.assign(middlewareOf(http), { limiter, route })
}

function middlewareOf(http: HttpLimiter<Context, Response>): Middleware {
  return noteHttp<Middleware>(http, async (ctx, next) => {
    try {
      const admitted = http.admit(ctx, ctx.response)
      if (!(typeof admitted === 'boolean' ? admitted : await admitted)) return
    } catch (thrown) {
      keepHeaders(ctx, ['Cache-Control'])
      throw toThrown(thrown)
    }
    try {
      await next()
    } catch (error) {
      keepHeaders(ctx)
      throw error
    }
  })
}

/**
 * Makes the middleware of a route on which customers see their usage: where each of their limits stands, and when more is left.
 * JSON, or a small page for browsers. It takes no units. Requests without a subject get a 401, and more than 60 a minute a 429.
 * Declare the route above `app.use(limit)`, or its requests count, too.
 *
 * @param source what `rateLimit` or `route` returned, or `{ limiter, identify }`
 * @throws {ConfigError} when it is neither, or knows clients by their address only
 * @example router.get('/v1/usage', usage(limit))
 */
export function usage(source: Middleware | UsageRouteOptions<Context, Response>): Middleware {
  const answer = atCaller(usage, () => createUsage(koa, source))
  return async (ctx) => {
    const { status, headers, body } = await answer(ctx)
    ctx.status = status
    ctx.body = body
    // After the body, for which Koa sets a type of its own.
    ctx.set(headers)
  }
}
