import { adapterContract, routeContract, type Serve } from '@tollgate/testing'
import Fastify, { type RouteHandlerMethod } from 'fastify'
import { rateLimit, type RateLimitPluginOptions, type RouteRateLimitOptions } from '../src/index.js'

const ownOf = (given: object): RouteRateLimitOptions => given

/** @param how a route says what it costs: in its config, or by a hook that is added by hand */
const serveWith =
  (how: 'config' | 'hook'): Serve =>
  async ({ options, more = [], routes = [], ...rest }) => {
    const { look, handle, hold, trustProxy, before, onHandled, onError } = rest
    const isUnlimited = routes.some(({ isAlone }) => isAlone)
    const app = Fastify({
      trustProxy: trustProxy ? ['127.0.0.1'] : false,
      forceCloseConnections: true,
      routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    })
    if (onError) {
      app.setErrorHandler((error, _request, reply) => {
        onError(error)
        void reply.code(500).send()
      })
    }
    if (before) app.addHook('onRequest', before)
    for (const one of [options, ...more])
      await app.register(rateLimit, one as unknown as RateLimitPluginOptions)
    const handler: RouteHandlerMethod = async (request, reply) => {
      onHandled?.()
      if (handle) {
        const made = await handle(request, reply.raw)
        return made ?? reply.hijack()
      }
      if (hold) await hold()
      return (
        look?.(request, request as unknown as Record<string, unknown>) ?? {
          ok: true,
          decision: request.rateLimit,
        }
      )
    }
    app.get('/', isUnlimited ? { config: { rateLimit: false } } : {}, handler)
    for (const { path: url, options: own, within } of routes) {
      await app.register(async (router) => {
        if (within) router.addHook('preHandler', app.rateLimit(ownOf(within)))
        const said =
          how === 'config'
            ? { config: { rateLimit: ownOf(own) } }
            : {
                preHandler: app.rateLimit(ownOf(own)),
                ...(isUnlimited && { config: { rateLimit: false } as const }),
              }
        router.route({ method: ['GET', 'POST'], url, ...said, handler })
      })
    }
    app.get('/error', () => {
      throw new Error('of the application')
    })
    return { url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/`, close: async () => app.close() }
  }

adapterContract('Fastify 5', serveWith('config'))
routeContract('Fastify 5, hooks added by hand', serveWith('hook'), () => undefined)
