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
    const [original = ''] = ctx.originalUrl.split('?')
    // koa-mount has taken the beginning of the URL away, and gives `/` for the mount itself, with and without a slash.
    const isMount = ctx.path === '/' && !original.endsWith('/')
    const before = isMount ? original : original.slice(0, Math.max(original.length - ctx.path.length, 0))
    const { body } = ctx.request as { readonly body?: unknown }
    const place = { host: ctx, base: before + mount, url: isMount ? url.slice(1) : url, body }
    return answerNode(made, [ctx.req, ctx.res], place)
  }
  return Object.defineProperty(middleware, 'token', {
    get: () => made.access.local?.token,
  }) as DashboardMiddleware
}
