import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import { Dashboard } from './dashboard.js'
import { answerNode } from './node-bridge.js'
import { behind, checkOptions, type MountedOptions } from './options.js'

export { findRules, findSeenPlan, type SeenPlan } from './find.js'
export type { Authorize, DashboardAction, DashboardOptions, MountedOptions, Operator } from './options.js'

declare global {
  namespace Express {
    // Where applications declare what their login adds, such as `user`. Empty without Express.
    interface Request {}
  }
}

/** A request of a server of Node, with what your application has declared of Express's. */
export type NodeRequest = IncomingMessage & Express.Request

/** What `dashboard` returns: middleware for Express, and a listener for a server of Node. */
export interface DashboardHandler {
  (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void
  /** Without `authorize`: what the first browser on this machine has to bring, as `?token=`. Undefined once one has. */
  readonly token: string | undefined
}

/**
 * Makes a dashboard of a limiter: a page that shows who is busiest, who is near a limit, and why requests were refused, and that blocks,
 * overrides and scales. For Express 4 and 5, and for a server of Node alone. Fastify, Koa and fetch hosts have entry points of their own.
 *
 * @throws {ConfigError} when an option is wrong
 * @example
 * app.use('/_tollgate', dashboard(limiter, {
 *   authorize: (req, action) => req.user?.isAdmin && { by: req.user.name },
 * }))
 */
export function dashboard(limiter: Limiter, options: MountedOptions<NodeRequest> = {}): DashboardHandler {
  atCaller(dashboard, () => checkOptions(limiter, options))
  const made = new Dashboard<NodeRequest>(limiter, options)
  const mount = (options.path ?? '').replace(/\/+$/, '')
  const handler = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void): void => {
    const { baseUrl = '', originalUrl, body } = req as Expressed
    // Who asks as of a proxy sends the whole URL.
    const url = (req.url ?? '/').replace(/^https?:\/\/[^/?]*/i, '')
    const path = behind(mount, url)
    if (path === undefined) {
      if (next) return next()
      res.writeHead(404).end()
      return
    }
    // Express gives `/` for the mount itself, with and without a slash.
    const isMount =
      path.startsWith('/') && pathOf(originalUrl ?? url) === baseUrl + mount && baseUrl + mount !== ''
    const place = {
      host: req as NodeRequest,
      base: baseUrl + mount,
      url: isMount ? path.slice(1) : path,
      body,
    }
    void answerNode(made, [req, res], place)
  }
  return Object.defineProperty(handler, 'token', {
    get: () => made.access.local?.token,
  }) as DashboardHandler
}

interface Expressed {
  readonly baseUrl?: string
  readonly originalUrl?: string
  readonly body?: unknown
}

function pathOf(url: string): string {
  return url.split('?')[0] as string
}
