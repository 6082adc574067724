import type { Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import type { Context, Middleware } from 'koa'
import { Dashboard } from './dashboard.js'
import { answerNode } from './node-bridge.js'
import { behind, checkOptions, type MountedOptions } from './options.js'

export type { Authorize, DashboardAction, MountedOptions, Operator } from './options.js'

/** What `dashboard` returns: middleware. */
export type DashboardMiddleware = Middleware & {
  /** As in DashboardHandler. */
  readonly token: string | undefined
}

/**
 * As `dashboard` of '@tollgate/admin', as middleware for Koa 2 and 3. Requests elsewhere than below `path` go on.
 *
 * @throws {ConfigError} when an option is wrong
 * @example
 * app.use(dashboard(limiter, { path: '/_tollgate', authorize: (ctx) => ctx.state.user?.isAdmin && { by: ctx.state.user.name } }))
 */
export function dashboard(limiter: Limiter, options: MountedOptions<Context> = {}): DashboardMiddleware {
  atCaller(dashboard, () => checkOptions(limiter, options))
  const made = new Dashboard<Context>(limiter, options)
  const mount = (options.path ?? '').replace(/\/+$/, '')
  const middleware: Middleware = async (ctx, next) => {
    const url = behind(mount, ctx.url)
    if (url === undefined) return next()
    ctx.respond = false
    const { originalUrl } = ctx
    // koa-mount has taken the beginning of the URL away.
    const base = originalUrl.endsWith(ctx.url) ? originalUrl.slice(0, -ctx.url.length) + mount : mount
    const { body } = ctx.request as { readonly body?: unknown }
    return answerNode(made, [ctx.req, ctx.res], { host: ctx, base, url, body })
  }
  return Object.defineProperty(middleware, 'token', {
    get: () => made.access.local?.token,
  }) as DashboardMiddleware
}
