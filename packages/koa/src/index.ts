import { RATE_LIMIT_HEADERS, type Decision, type Limiter, type RateLimitOptions } from '@tollgate/core'
import { createHttpLimiter, hasLeft, onResponseEnd, toThrown, type HttpAdapter } from '@tollgate/core/adapter'
import type { Context, Middleware, Response } from 'koa'

export * from '@tollgate/core'

declare module 'koa' {
  interface DefaultState {
    /** What Tollgate decided on this request; undefined when it was skipped. */
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
  // A header of another name is one that the proxy always sets itself.
  trustsAll: ({ app }) => app.proxy && !(app.maxIpsCount > 0) && app.proxyIpHeader === 'X-Forwarded-For',
  route: routeOf,
  attach: (ctx, decision, property) => void (ctx.state[property] = decision),
  isSent: (response) => response.headerSent,
  getHeader: (response, name) => response.res.getHeader(name)?.toString(),
  setHeader: (response, name, value) => response.set(name, value),
  end: (response, { status, contentType, body }) => {
    // Also where a middleware before it meant to answer by Node's response.
    response.ctx.respond = true
    response.status = status
    // Not by `type`, which adds a charset to some media types.
    response.set('Content-Type', contentType)
    response.body = body
  },
  onEnd: (response, listener) => onResponseEnd(response.res, listener),
}

/** Where @koa/router keeps the pattern that matched, while its middleware runs. */
function routeOf({
  _matchedRoute: route,
}: Context & { readonly _matchedRoute?: string | RegExp }): string | undefined {
  return route === undefined ? undefined : String(route)
}

/**
 * For an error Koa takes all headers off the response but those that the error has, so the error has ours while Koa
 * answers with it. No longer: it may be one that is thrown for other clients, too.
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
    // Of an error that is frozen it fails without a sound.
    Reflect.set(error, 'headers', { ...kept, ...error.headers })
    try {
      answer.call(ctx, error)
    } finally {
      if (own) Reflect.defineProperty(error, 'headers', own)
      else Reflect.deleteProperty(error, 'headers')
    }
  }
}

/** Middleware, and the limiter behind it: for events, `reset`, `setPlans` and `close`. */
export type RateLimitMiddleware<Plans extends string = string> = Middleware & {
  readonly limiter: Limiter<Plans>
}

/**
 * Koa middleware, for 2 and 3, that holds every subject to the limits of its plan. The decision is at
 * `ctx.state.rateLimit`; what `identify`, `cost`, `skip` or `onDenied` throw is thrown on to Koa.
 *
 * @throws {ConfigError} here, when an option is wrong; a request never meets that error
 * @example
 * app.use(rateLimit({
 *   plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
 *   identify: ({ state: { user } }) => user && { id: user.id, plan: user.plan },
 *   store: redisStore(new Redis(process.env.REDIS_URL, { autoResendUnfulfilledCommands: false })),
 * }))
 */
export function rateLimit<Plans extends string = string>(
  options: RateLimitOptions<Context, Response, Plans>,
): RateLimitMiddleware<Plans> {
  const http = createHttpLimiter(koa, options)
  const middleware: Middleware = async (ctx, next) => {
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
  }
  return Object.assign(middleware, { limiter: http.limiter })
}
