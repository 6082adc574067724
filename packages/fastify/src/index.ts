import {
  ConfigError,
  type Decision,
  type Identify,
  type Limiter,
  type RouteOptions,
  type RateLimitOptions,
  type UsageRouteOptions,
} from '@tollgate/core'
import {
  atCaller,
  createHttpLimiter,
  createUsage,
  groupForRoute,
  noteHttp,
  watchIdentity,
} from '@tollgate/core/adapter'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyRegisterOptions,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawServerBase,
  RawServerDefault,
} from 'fastify'
import fp from 'fastify-plugin'
import { fastify, createHook, unchanged, type Http, type RateLimitHook } from './adapter.js'
import { addLast, STAGES, type Stage } from './last-hooks.js'
import { mount, type Find, type Route } from './mount.js'

export * from '@tollgate/core'
export type { RateLimitHook } from './adapter.js'

/** The plugin's options: those of every HTTP limiter, and `hook`. */
export interface RateLimitPluginOptions<Plans extends string = string> extends RateLimitOptions<
  FastifyRequest,
  FastifyReply,
  Plans
> {
  /**
   * The stage in which requests are decided, after the stage's other hooks. So `identify` finds what they stored, such as the
   * user. Default with `identify`, or if `limit` is a function: `preHandler`, which comes after any authentication. Default if
   * clients count by address: `onRequest`, in the order of registration, so that the limiter also protects authentication after it.
   */
  readonly hook?: Stage | undefined
}

/** The options of a route or of a hook made by `app.rateLimit`: all except those that make the limiter. */
export type RouteRateLimitOptions = RouteOptions<FastifyRequest, FastifyReply>

declare module 'fastify' {
  interface FastifyRegister<
    T = void,
    RawServer extends RawServerBase = RawServerDefault,
    TypeProviderDefault extends FastifyTypeProvider = FastifyTypeProvider,
    LoggerDefault extends FastifyBaseLogger = FastifyBaseLogger,
  > {
    <Plans extends string = string>(
      plugin: RateLimitPlugin,
      options: FastifyRegisterOptions<RateLimitPluginOptions<Plans>>,
    ): T
  }
  interface FastifyInstance {
    /**
     * Makes a hook to add by hand. Without options, it decides as the plugin does, and skips requests that the plugin has
     * decided. With options, it decides in addition to the plugin.
     *
     * @throws {ConfigError} when an option is wrong
     */
    readonly rateLimit: (options?: RouteRateLimitOptions) => RateLimitHook
    /** The plugin's limiter: for events, `peek`, `refund`, `reset` and `setPlans`. */
    readonly rateLimiter: Limiter
  }
  interface FastifyRequest {
    /** Tollgate's decision on this request; undefined if it was not limited. */
    rateLimit?: Decision
  }
  interface FastifyContextConfig {
    /**
     * This route's options, which override the plugin's. A route with a `limit` and no `group` has its own counters. `false`: the
     * route is not limited.
     */
    rateLimit?: RouteRateLimitOptions | false
  }
}

/** The type of the plugin `rateLimit`. `register` knows it, so TypeScript checks and suggests the names of plans. */
export type RateLimitPlugin = (<Plans extends string>(
  app: FastifyInstance,
  options: RateLimitPluginOptions<Plans>,
) => Promise<void>) &
  // Other signatures of `register` know no plans, so they accept no plan name.
  FastifyPluginAsync<Omit<RateLimitPluginOptions, 'defaultPlan'> & { readonly defaultPlan?: undefined }> & {
    /** Set by fastify-plugin. Without it, this would be the type of any registered function. */
    readonly default: unknown
  }

/** Not async, so that calling it like Express middleware throws at once. */
function plugin(app: FastifyInstance, options: RateLimitPluginOptions): Promise<void> {
  if (typeof app?.addHook === 'function') return addTo(app, options)
  const problem = `it is a plugin, so register it instead of calling it: ${fastify.mounting}`
  const error = new ConfigError('rateLimit', problem)
  // With a second argument, it was added as a hook, and a hook that throws synchronously ends the process.
  if (options !== undefined) return Promise.reject(error)
  return atCaller(plugin, () => {
    throw error
  })
}

async function addTo(app: FastifyInstance, options: RateLimitPluginOptions): Promise<void> {
  const { hook, ...given } = options
  const http = atCaller(plugin, () => createHttp(app, options))
  // Added first, so that the limiter is closed even if the rest of the start fails.
  if (!given.limiter) app.addHook('onClose', () => http.limiter.close())
  const decided = Symbol('tollgate.decided')
  // Declared, so that requests have it from the start. Otherwise marking one would change its hidden class.
  app.decorateRequest(decided)
  const rateLimit: FastifyInstance['rateLimit'] = noteHttp(http, (own) => {
    if (own === undefined) return createHook(() => http, decided)
    const made = atCaller(rateLimit, () => createRoute(http, own))
    return createHook(() => made)
  })

  const ofRoutes = new WeakMap<object, Http>()
  const find: Find = (server, config, of) => {
    if (config?.rateLimit === false) return undefined
    // If several registrations surround a route, its options apply to the innermost one, and there to the last.
    if (config?.rateLimit === undefined || server.rateLimit !== rateLimit) return http
    if (needsGroup(config.rateLimit)) config.rateLimit = inGroup(config.rateLimit, of.routeOptions)
    const own = config.rateLimit as object
    const known = ofRoutes.get(own)
    if (known) return known
    const made = createDeclaredRoute(http, of.routeOptions, own)
    ofRoutes.set(own, made)
    return made
  }

  const { requestProperty = 'rateLimit' } = given
  if (!app.hasRequestDecorator(requestProperty)) app.decorateRequest(requestProperty)
  decorate(app, { rateLimit, rateLimiter: http.limiter })
  const hasRoutes = mount(app, find, decided, hook)
  const isEarly = hook !== undefined && hook !== 'preHandler'
  if (isEarly && given.identify && !http.isByAddress) {
    warnOfLateIdentity(app, given.identify, { stage: hook, limiter: http.limiter })
  }
  app.addHook('onReady', async () => {
    if (!hasRoutes()) refuseUnlessEmpty(app)
  })
}

function createHttp(app: FastifyInstance, options: RateLimitPluginOptions): Http {
  try {
    const { hook, ...given } = options
    // What is not an options object is passed on unchanged, so that the error shows it as it was given.
    const own = 'hook' in Object(options) ? given : options
    if (hook === undefined || STAGES.includes(hook)) return createHttpLimiter(fastify, own)
    throw ConfigError.wrong('hook', hook, `one of ${STAGES.map((stage) => `'${stage}'`).join(', ')}`)
  } catch (error) {
    throw registeredIn(app, error)
  }
}

/** Adds the name of the plugin that registered this one, since the line that did so is no longer on the stack. */
function registeredIn({ pluginName }: FastifyInstance, error: unknown): unknown {
  const [around = ''] = pluginName.split(' -> ')
  // Fastify names a plugin without a name by its source.
  const isNamed = around !== 'fastify' && /^[\w@./-]{1,64}$/.test(around)
  if (!isNamed || !(error instanceof ConfigError)) return error
  return new ConfigError(error.path, `${error.problem} (registered in the plugin ${around})`)
}

/** Where users write the options of a route. */
const PATH = 'config.rateLimit'

function createRoute(http: Http, own: RouteRateLimitOptions & { readonly hook?: unknown }, path = ''): Http {
  if (own?.hook === undefined) return http.route(own, path)
  const problem = 'requests are decided in one hook, whatever their route: app.register(rateLimit, { hook })'
  throw new ConfigError(path === '' ? 'hook' : `${path}.hook`, problem)
}

/** Whether a route has a limit, but no group to count it in. */
function needsGroup(own: unknown): own is RouteRateLimitOptions {
  const { limit, group } = (own ?? {}) as RouteRateLimitOptions
  return limit !== undefined && typeof limit !== 'function' && group === undefined
}

function inGroup(own: RouteRateLimitOptions, route: Route): RouteRateLimitOptions {
  const { method = '', url = '', constraints = {} } = route
  const more = Object.entries(constraints).map(([name, value]) => `${name} ${String(value)}`)
  return { ...own, group: groupForRoute(method, url, more.toSorted().join()) }
}

function createDeclaredRoute(http: Http, { method, url }: Route, own: unknown): Http {
  try {
    return createRoute(http, own as RouteRateLimitOptions, PATH)
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

/** Refuses a plugin that would limit nothing: it was registered after all routes, or in a context without routes. */
function refuseUnlessEmpty(app: FastifyInstance): void {
  const routes = app.printRoutes({ commonPrefix: false })
  if (routes.startsWith('(empty')) return
  const problem =
    'nothing is limited, since all routes were declared before rateLimit or on another instance: write `await ' +
    'app.register(rateLimit, { ... })` before the routes, on the instance that has them (if a plugin of yours ' +
    `registers it for others, wrap that plugin in fastify-plugin). The application's routes:\n${routes}`
  throw new ConfigError('', problem)
}

/** How many requests counted by address are checked. After these, the stage is assumed to be right. */
const LOOKS = 20

/**
 * Warns once if `identify` finds no subject in the stage that the user chose, but finds one after `preHandler`. Then
 * authentication runs in a later stage, and all requests are counted by address. The check comes before the handler, since a
 * handler may log a user in.
 */
function warnOfLateIdentity(
  app: FastifyInstance,
  identify: Identify<FastifyRequest>,
  { stage, limiter }: { readonly stage: Stage; readonly limiter: Limiter },
): void {
  const watch = watchIdentity(fastify, identify, limiter)
  if (!watch) return
  watch.lookElsewhere()
  let left = LOOKS
  const look = async (request: FastifyRequest): Promise<void> => {
    if (!(await watch.findsSubject(request))) return
    left = 0
    watch.isLate(
      `identify found no subject in the stage ${stage}, so a request counted by address. But it found one after preHandler: ` +
        "authentication runs after the limiter. Leave `hook` out, or set hook: 'preHandler'.",
    )
  }
  const check = (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    if (left > 0 && request.rateLimit?.subject.kind === 'ip') {
      left -= 1
      void look(request)
    }
    done()
  }
  app.addHook('onRoute', (route) => addLast(route, 'preHandler', check))
}

/**
 * Plugin for Fastify 5 that limits each subject by its plan, in the context where you register it. A request over its limits is
 * answered with 429. The decision is in `request.rateLimit`. Errors thrown by `identify`, `cost`, `skip` or `onDenied` go to
 * Fastify's error handling. If the application has its own error handler, denials go there, too, as `LimitedError`.
 *
 * @throws {ConfigError} from `register` or `ready`, when an option is wrong
 * @example
 * await app.register(rateLimit, {
 *   plans: { free: '100/min', pro: ['50/s burst 100', '5000000/month'] },
 *   identify: ({ user }) => user && { id: user.id, plan: user.plan },
 *   store: redisStore(redis), // your client, with the settings from docs/operations/redis.md
 * })
 * app.get('/reports', { config: { rateLimit: { cost: 5 } } }, handler)
 */
export const rateLimit = fp(plugin, {
  name: '@tollgate/fastify',
  fastify: '5.x',
}) as unknown as RateLimitPlugin

/**
 * Makes the handler of a route on which customers see their usage: where each of their limits stands, and when more is left.
 * JSON, or a small page for browsers. It takes no units. Requests without a subject get a 401, and more than 60 a minute a 429.
 * Give the route `config: { rateLimit: false }`, or its requests count, too.
 *
 * @param source `app.rateLimit`, or `{ limiter, identify }`
 * @throws {ConfigError} when it is neither, or knows clients by their address only
 * @example app.get('/v1/usage', { config: { rateLimit: false } }, usage(app.rateLimit))
 */
export function usage(
  source: FastifyInstance['rateLimit'] | UsageRouteOptions<FastifyRequest, FastifyReply>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const answer = atCaller(usage, () => createUsage(fastify, source))
  return async (request, reply) => {
    const { status, headers, body } = await answer(request)
    return reply.code(status).headers(headers).serializer(unchanged).send(body)
  }
}

export default rateLimit
