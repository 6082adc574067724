import { atCaller, warn } from '@tollgate/core/adapter'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createHook, noteErrorHandler, type Http, type RateLimitHook } from './adapter.js'
import { addLast, configOf, runLast, type Stage } from './last-hooks.js'

/** The properties that a route has both when it is declared and during a request. */
export interface Route {
  readonly method?: string | readonly string[]
  readonly url?: string | undefined
  readonly constraints?: object | undefined
  readonly config?: { rateLimit?: unknown }
}

/**
 * Finds a route's limiter; undefined if the route is not limited.
 *
 * @param config this route's own: a limit without a group gets one there
 * @param of     has the route; read only if the group or an error needs it
 * @throws {ConfigError} when the route's options are wrong
 */
export type Find = (
  server: FastifyInstance,
  config: Route['config'],
  of: { readonly routeOptions: Route },
) => Http | undefined

/** Where in Fastify's hooks a request is decided. */
interface Position {
  readonly stage: Stage
  /** True: after all other hooks of the stage. False: in the order in which the plugin was registered. */
  readonly isLast: boolean
}

/** After authentication, whatever its stage, and before the handler. */
const BEHIND_ALL: Position = { stage: 'preHandler', isLast: true }
/** Before authentication, so that it is protected and denied requests are cheapest. */
const IN_FRONT: Position = { stage: 'onRequest', isLast: false }

/**
 * Limits a context's requests: those of its routes and of nested contexts, whenever they are declared, and those below its
 * prefix that match no route. Each request is decided once.
 *
 * @param decided marks the requests that were already decided, and the config of routes that have a hook by addLast
 * @param stage   the option `hook`
 * @returns       a function that returns whether a route was declared since this call
 */
export function mount(
  app: FastifyInstance,
  find: Find,
  decided: symbol,
  stage: Stage | undefined,
): () => boolean {
  const findFor: FindForRequest = (request) => find(request.server, configOf(request), request)
  const decideLast = decideIn(app, findFor, { decided, stage })
  if (app.prefix !== '') {
    const isBelow = matcherOf(app.prefix)
    const findUnknown: FindForRequest = (request) =>
      request.is404 && isBelow(request.url) ? findFor(request) : undefined
    // Unless the prefix has a not-found handler, these requests run an outer context's handler and hooks.
    for (const around of contextsAround(app)) decideIn(around, findUnknown, { decided, stage })
  }

  let hasRoutes = false
  app.addHook('onRoute', function onRoute(route) {
    hasRoutes = true
    if (route.config?.rateLimit) route.config = { ...route.config }
    // Called now, so that wrong options throw where the route is declared.
    const http = atCaller(onRoute, () => find(this, route.config, { routeOptions: route }))
    noteErrorHandler(route)
    const position = http && positionFor(http, stage)
    if (!position?.isLast) return
    route.config = Object.assign({}, route.config, { [decided]: true })
    addLast(route, position.stage, decideLast)
  })
  return () => hasRoutes
}

type FindForRequest = (request: FastifyRequest) => Http | undefined

/**
 * Makes a context decide the requests for which `findIn` finds a limiter, except for routes with their own hook.
 *
 * @returns the hook that decides them, to add where it has to come last
 */
function decideIn(
  context: FastifyInstance,
  findIn: FindForRequest,
  { decided, stage }: { readonly decided: symbol; readonly stage: Stage | undefined },
): RateLimitHook {
  const decideLast = createHook(findIn, decided)
  for (const own of stage ? [stage] : [IN_FRONT.stage, BEHIND_ALL.stage]) {
    const findAt: FindForRequest = (request) => {
      if (decided in configOf(request)) return undefined
      const http = findIn(request)
      const isHere = http && isAt(own, positionFor(http, stage), () => runLast(request, own, decideLast))
      return isHere ? http : undefined
    }
    context.addHook(own as 'onRequest', createHook(findAt, decided))
  }
  return decideLast
}

/** In Fastify, each context is an object whose prototype is the context around it. */
function contextsAround(app: FastifyInstance): FastifyInstance[] {
  const around = Object.getPrototypeOf(app) as Partial<FastifyInstance> | null
  if (typeof around?.addHook !== 'function') return []
  return [around as FastifyInstance, ...contextsAround(around as FastifyInstance)]
}

/** A path's parameter, such as `:shop` or `:id(^\\d+$)`; or a literal colon, which is written twice. */
const PARAMETER = /(::|:\w+(?:\([^)]*\))?)/

/**
 * @param prefix such as `/shops/:shop`
 * @returns a function that returns whether a URL is the prefix, or below it
 */
function matcherOf(prefix: string): (url: string) => boolean {
  const parts = prefix
    .replace(/\/+$/, '')
    .split(PARAMETER)
    .map((part) => {
      if (part === '::') return ':'
      return part.startsWith(':') ? '[^/?#]+' : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
    })
  const pattern = new RegExp(`^${parts.join('')}(?:[/?#]|$)`, 'i')
  return (url) => pattern.test(url)
}

/** @param stage the option `hook` */
function positionFor({ isByAddress }: Http, stage: Stage | undefined): Position {
  if (stage) return { stage, isLast: true }
  return isByAddress ? IN_FRONT : BEHIND_ALL
}

/**
 * Whether the hook that runs in the stage `own` must decide the request now.
 *
 * @param runsLast tries to arrange that the request is decided after the stage's other hooks; returns whether it succeeded
 */
function isAt(own: Stage, position: Position, runsLast: () => boolean): boolean {
  if (position.stage !== own) return false
  if (!position.isLast) return true
  if (runsLast()) return false
  warnOfOrder()
  return true
}

let mayWarn = true

/** Warns once per process, since the cause is Fastify's version. */
function warnOfOrder(): void {
  if (!mayWarn) return
  mayWarn = false
  warn(
    'TOLLGATE_HOOK_ORDER',
    '@tollgate/fastify does not know this version of Fastify. It decides some requests before hooks that were added later, so ' +
      '`identify` does not find what those hooks store. This concerns routes declared before the plugin was registered, and ' +
      'requests that match no route. Register the plugin before the routes and after authentication.',
  )
}
