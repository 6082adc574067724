import type { Decision, Limiter, RateLimitOptions, RouteOptions, UsageRouteOptions } from '@tollgate/core'
import {
  admitThen,
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
import type { Request, RequestHandler, Response } from 'express'

export * from '@tollgate/core'

declare global {
  namespace Express {
    interface Request {
      /** Tollgate's decision on this request; undefined if it was not limited. */
      rateLimit?: Decision
    }
  }
}

/** Properties of requests in Express 4 and 5. A test compares them with real requests. */
const TAKEN =
  '_parsedUrl accepts acceptsCharset acceptsCharsets acceptsEncoding acceptsEncodings acceptsLanguage acceptsLanguages ' +
  'fresh get header is next param range stale subdomains xhr'

const express: HttpAdapter<Request, Response> = {
  framework: 'Express',
  mounting: "app.use(rateLimit({ limit: '100/min' }))",
  taken: TAKEN.split(' '),
  trustSetting: "app.set('trust proxy', 1)",
  method: (req) => req.method,
  // Not `req.get`: mock requests and requests of a plain Node server do not have Express's methods.
  header: (req, name) => req.headers[name]?.toString(),
  ip: (req) => req.ip ?? req.socket?.remoteAddress,
  hasLeft: (req) => hasLeft(req.socket),
  trustsProxy: (req) => Boolean(req.app?.get('trust proxy')),
  trustsAll: (req) => req.app?.get('trust proxy') === true,
  // Without `req.baseUrl`: it holds the URL as the client sent it, not a pattern.
  route: (req) => (req.route?.path === undefined ? undefined : String(req.route.path)),
  attach: (req, decision, property) => {
    ;(req as unknown as Record<string, Decision>)[property] = decision
  },
  isSent: (res) => res.headersSent,
  getHeader: (res, name) => res.getHeader(name)?.toString(),
  setHeader: (res, name, value) => void res.setHeader(name, value),
  removeHeader: (res, name) => res.removeHeader(name),
  setStatus: (res, status) => {
    const before = res.statusCode
    res.statusCode = status
    return before
  },
  // Node's methods, since Express's add a charset and an ETag.
  end: (res, { status, contentType, body }) => {
    res.statusCode = status
    res.setHeader('Content-Type', contentType)
    res.end(body)
  },
  onEnd: onResponseEnd,
}

/** What `rateLimit` returns: middleware, with its limiter and a method for routes with other options. */
export type RateLimitHandler<Plans extends string = string> = RequestHandler & {
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
   * app.post('/export', limit.route({ cost: 10 }), handler)
   * app.post('/login', limit.route({ stacked: { login: '5/min' } }), handler)
   * app.use(limit) // all other routes follow
   */
  route(options: RouteOptions<Request, Response>): RequestHandler
}

/**
 * Makes middleware for Express 4 and 5 that limits each subject by its plan. A request over its limits is answered with 429. The
 * decision is in `req.rateLimit`. Errors thrown by `identify`, `cost`, `skip` or `onDenied` go to Express's error handlers.
 *
 * @throws {ConfigError} when an option is wrong. This call throws it, never a request
 * @example
 * app.use(rateLimit({
 *   plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
 *   identify: (req) => req.user && { id: req.user.id, plan: req.user.plan },
 *   store: redisStore(redis), // your client, with the settings from docs/operations/redis.md
 * }))
 */
export function rateLimit<Plans extends string = string>(
  options: RateLimitOptions<Request, Response, Plans>,
): RateLimitHandler<Plans> {
  const http = atCaller(rateLimit, () => createHttpLimiter(express, options))
  const { limiter } = http
  const route = (own: RouteOptions<Request, Response>): RequestHandler =>
    handlerOf(atCaller(route, () => http.route(own, 'route')))
  return Object.assign(handlerOf(http), { limiter, route })
}

function handlerOf(http: HttpLimiter<Request, Response>): RequestHandler {
  return noteHttp<RequestHandler>(http, (req, res, next) => admitThen(http, req, res, next))
}

/**
 * Makes the handler of a route on which customers see their usage: where each of their limits stands, and when more is left.
 * JSON, or a small page for browsers. It takes no units. Requests without a subject get a 401, and more than 60 a minute a 429.
 * Declare the route above `app.use(limit)`, or its requests count, too.
 *
 * @param source what `rateLimit` or `route` returned, or `{ limiter, identify }`
 * @throws {ConfigError} when it is neither, or knows clients by their address only
 * @example app.get('/v1/usage', usage(limit))
 */
export function usage(source: RequestHandler | UsageRouteOptions<Request, Response>): RequestHandler {
  const answer = atCaller(usage, () => createUsage(express, source))
  return (req, res, next) => {
    answer(req).then(
      ({ status, headers, body }) => {
        // The application has answered meanwhile, such as by its own time limit.
        if (res.headersSent) return
        res.statusCode = status
        for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
        res.end(body)
      },
      (error: unknown) => next(toThrown(error)),
    )
  }
}
