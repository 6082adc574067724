import {
  ConfigError,
  type Decision,
  type Limiter,
  type PlaceOptions,
  type RateLimitOptions,
} from '@tollgate/core'
import { createHttpLimiter, internalsOf } from '@tollgate/core/adapter'
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { fastify, makeHook, type Http, type RateLimitHook } from './adapter.js'
import { STAGES, type Stage } from './last.js'
import { warnOfLateIdentity } from './late-identity.js'
import { mount, type Route } from './mount.js'

export * from '@tollgate/core'
export type { RateLimitHook } from './adapter.js'

export interface RateLimitPluginOptions extends RateLimitOptions<FastifyRequest, FastifyReply> {
  /**
   * The stage that decides, after all other hooks of it, so that `identify` finds what they left, such as the user.
   * Default: `preHandler` where there is an `identify`, since that is behind authentication wherever it stands. By
   * address alone: `onRequest`, in the place where the plugin is registered, so as to guard the authentication after it.
   */
  readonly hook?: Stage
}

/** What one route or place can have otherwise than the plugin: all but what makes the limiter. */
export type RouteRateLimitOptions = PlaceOptions<FastifyRequest, FastifyReply>

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Makes a hook to mount by hand. Without options it decides as the plugin does, and only requests that the plugin
     * has not; with options of its own it decides on top of the plugin.
     *
     * @throws {ConfigError} when an option is wrong
     */
    readonly rateLimit: (options?: RouteRateLimitOptions) => RateLimitHook
    /** For events, `peek`, `refund`, `reset` and `setPlans`. */
    readonly rateLimiter: Limiter
  }
  interface FastifyRequest {
    /** What Tollgate decided on this request; undefined when it was skipped. */
    rateLimit?: Decision
  }
  interface FastifyContextConfig {
    /** Options of this route, over those of the plugin; false: it is not limited. */
    rateLimit?: RouteRateLimitOptions | false
  }
}

/** Not async: called as middleware is, it must throw where it was called. */
function plugin(app: FastifyInstance, options: RateLimitPluginOptions): Promise<void> {
  if (typeof app?.addHook === 'function') return addTo(app, options)
  const problem = `it is a plugin, to be registered and not called: ${fastify.mounting}`
  const error = new ConfigError('rateLimit', problem)
  // With more than options it was added as a hook: what a hook throws at once ends the process.
  if (options === undefined) throw error
  return Promise.reject(error)
}

async function addTo(app: FastifyInstance, options: RateLimitPluginOptions): Promise<void> {
  const { hook, ...given } = options
  if (hook !== undefined && !STAGES.includes(hook)) {
    throw ConfigError.wrong('hook', hook, `one of ${STAGES.map((stage) => `'${stage}'`).join(', ')}`)
  }
  const http = createHttpLimiter(fastify, given)
  // At once, so that it also closes when the application cannot be registered or made ready.
  if (!given.limiter) app.addHook('onClose', () => http.limiter.close())
  const decided = new WeakSet<FastifyRequest>()
  const rateLimit: FastifyInstance['rateLimit'] = (own) => {
    if (own === undefined) return makeHook(() => http, decided)
    const made = atPlace(http, own)
    return makeHook(() => made)
  }

  const ofRoutes = new WeakMap<object, Http>()
  const find = (server: FastifyInstance, route: Route): Http | undefined => {
    const own = route.config?.rateLimit
    if (own === false) return undefined
    // Of several registrations around a route, its options are for the nearest, and the last of those.
    if (own === undefined || server.rateLimit !== rateLimit) return http
    const known = ofRoutes.get(own as object)
    if (known) return known
    const made = atRoute(http, route, own)
    ofRoutes.set(own as object, made)
    return made
  }

  const { requestProperty = 'rateLimit' } = given
  if (!app.hasRequestDecorator(requestProperty)) app.decorateRequest(requestProperty)
  decorate(app, { rateLimit, rateLimiter: http.limiter })
  const hasRoutes = mount(app, find, decided, hook)
  const isEarly = hook !== undefined && hook !== 'preHandler'
  if (isEarly && given.identify && !http.isByAddress) {
    warnOfLateIdentity(app, given.identify, { stage: hook, warn: internalsOf(http.limiter).warn })
  }
  app.addHook('onReady', async () => {
    if (!hasRoutes()) refuseUnlessEmpty(app)
  })
}

/** Where the options of a route stand. */
const PATH = 'config.rateLimit'

function atPlace(http: Http, own: RouteRateLimitOptions & { readonly hook?: unknown }, path = ''): Http {
  // Requests are decided in the hook of the plugin, whatever their route.
  if (own?.hook === undefined) return http.at(own, path)
  const problem = 'requests are decided in one hook, whatever their route: app.register(rateLimit, { hook })'
  throw new ConfigError(path === '' ? 'hook' : `${path}.hook`, problem)
}

function atRoute(http: Http, { method, url }: Route, own: unknown): Http {
  try {
    return atPlace(http, own as RouteRateLimitOptions, PATH)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const remedy = error.path === PATH ? '; false leaves the route without a limit' : ''
    throw new ConfigError(error.path, `${error.problem}${remedy} (route ${String(method)} ${url})`)
  }
}

function decorate(app: FastifyInstance, ours: Pick<FastifyInstance, 'rateLimit' | 'rateLimiter'>): void {
  if (Object.hasOwn(app, 'rateLimiter')) Object.assign(app, ours)
  else app.decorate('rateLimit', ours.rateLimit).decorate('rateLimiter', ours.rateLimiter)
}

/** Registered after all routes, or in a context that has none: that is not what anyone means. */
function refuseUnlessEmpty(app: FastifyInstance): void {
  const routes = app.printRoutes({ commonPrefix: false })
  if (routes.startsWith('(empty')) return
  const problem =
    'nothing is limited, since all routes were declared before rateLimit or on another instance: write `await ' +
    'app.register(rateLimit, { ... })` before the routes, on the instance that has them (a plugin of yours that ' +
    `registers it for others needs fastify-plugin). The routes of the application:\n${routes}`
  throw new ConfigError('', problem)
}

/**
 * Fastify plugin that holds every subject to the limits of its plan, in the context it is registered in. The decision
 * is at `request.rateLimit`; what `identify`, `cost`, `skip` or `onDenied` throw goes to Fastify's error handling, and
 * so do denials, as `LimitedError`, if the application has set an error handler.
 *
 * @throws {ConfigError} by `register` or `ready`, when an option is wrong
 * @example
 * await app.register(rateLimit, {
 *   plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
 *   identify: ({ user }) => user && { id: user.id, plan: user.plan },
 *   store: redisStore(new Redis(process.env.REDIS_URL, { autoResendUnfulfilledCommands: false })),
 * })
 * app.get('/reports', { config: { rateLimit: { cost: 5 } } }, handler)
 */
export const rateLimit: FastifyPluginAsync<RateLimitPluginOptions> = fp(plugin, {
  name: '@tollgate/fastify',
  fastify: '5.x',
})

export default rateLimit
