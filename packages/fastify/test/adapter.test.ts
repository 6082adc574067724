import { adapterContract, routeContract, type Serve } from '@tollgate/testing'
import Fastify, { type FastifyInstance, type RouteHandlerMethod } from 'fastify'
import { rateLimit, type RateLimitPluginOptions, type RouteRateLimitOptions } from '../src/index.js'

const ownOf = (given: object): RouteRateLimitOptions => given

/** @param how a route says what it costs: in its config, or by a hook that is added by hand */
const serveWith =
  (how: 'config' | 'hook', isHttp2 = false): Serve =>
  async ({ options, more = [], routes = [], ...rest }) => {
    const { look, handle, hold, trustProxy, before, onHandled, onError } = rest
    const isUnlimited = routes.some(({ isAlone }) => isAlone)
    const common = {
      trustProxy: trustProxy ? ['127.0.0.1'] : false,
      forceCloseConnections: true,
      routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    }
    // The types of a server of HTTP/2 are others, and the tests use what both have.
    const app = isHttp2
      ? (Fastify({ ...common, http2: true, http2SessionTimeout: 0 }) as unknown as FastifyInstance)
      : Fastify(common)
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
    for (const { path: url, options: own, within, isAbove } of routes) {
      await app.register(async (router) => {
        if (within) router.addHook('preHandler', app.rateLimit(ownOf(within)))
        const said =
          how === 'config'
            ? { config: { rateLimit: ownOf(own) } }
            : {
                preHandler: app.rateLimit(ownOf(own)),
                ...((isUnlimited || isAbove) && { config: { rateLimit: false } as const }),
              }
        router.route({ method: ['GET', 'POST'], url, ...said, handler })
      })
    }
    app.get('/error', () => {
      throw new Error('of the application')
    })
    const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/`
    return { url, close: async () => app.close(), server: app.server }
  }

adapterContract('Fastify 5', serveWith('config'), serveWith('config', true))
routeContract('Fastify 5, hooks added by hand', serveWith('hook'), () => undefined)
