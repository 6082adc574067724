import type { Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { Dashboard } from './dashboard.js'
import { answerNode } from './node-bridge.js'
import { checkOptions, type DashboardOptions } from './options.js'

export type { Authorize, DashboardAction, DashboardOptions, Operator } from './options.js'

/** What `dashboard` returns: a plugin, to register with a prefix. */
export type DashboardPlugin = FastifyPluginCallback & {
  /** As in DashboardHandler. */
  readonly token: string | undefined
}

/**
 * As `dashboard` of '@tollgate/admin', as a plugin for Fastify 5.
 *
 * @throws {ConfigError} when an option is wrong
 * @example
 * app.register(dashboard(limiter, { authorize: (request) => request.user?.isAdmin && { by: request.user.name } }), { prefix: '/_tollgate' })
 */
export function dashboard(limiter: Limiter, options: DashboardOptions<FastifyRequest> = {}): DashboardPlugin {
  atCaller(dashboard, () => checkOptions(limiter, options, true))
  const made = new Dashboard<FastifyRequest>(limiter, options)
  const plugin: FastifyPluginCallback = (app, _, done) => {
    // The body is read by the dashboard itself, whatever the application's parsers would make of it.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      reply.hijack()
      const [pathname = '', ...query] = request.url.split('?')
      const { '*': rest } = request.params as { readonly '*'?: string }
      // Not by the length of the prefix: that can have parameters.
      const tail = rest === undefined ? (pathname.endsWith('/') ? '/' : '') : `/${rest}`
      const base = pathname.endsWith(tail) ? pathname.slice(0, pathname.length - tail.length) : pathname
      const url = [tail, ...query].join('?')
      await answerNode(made, [request.raw, reply.raw], { host: request, base, url })
    }
    // Operators are no customers.
    const own = { config: { rateLimit: false as const } }
    app.all('/', own, handler)
    app.all('/*', own, handler)
    done()
  }
  return Object.defineProperty(plugin, 'token', { get: () => made.access.local?.token }) as DashboardPlugin
}
