import { atCaller, warn } from '@tollgate/core/adapter'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { makeHook, noteErrorHandler, type Http } from './adapter.js'
import { addLast, configOf, runLast, type Stage } from './last.js'

/** The properties that a route has both when it is declared and during a request. */
export interface Route {
  readonly method?: string | readonly string[]
  readonly url?: string | undefined
  readonly constraints?: object | undefined
  readonly config?: { rateLimit?: unknown }
}

/**
 * Finds the limiter of a route; undefined if the route is not limited.
 *
 * @param config of this route alone: options that are found to lack something are replaced there
 * @param of     read only where that or the error needs it
 * @throws {ConfigError} when the route's options are wrong
 */
export type Find = (
  server: FastifyInstance,
  config: Route['config'],
  of: { readonly routeOptions: Route },
) => Http | undefined

/** The hook that decides a request. */
interface Place {
  readonly stage: Stage
  /** True: after all other hooks of the stage. False: in the order in which the plugin was registered. */
  readonly isLast: boolean
}

/** After authentication in any stage, and before the handler. */
const BEHIND_ALL: Place = { stage: 'preHandler', isLast: true }
/** Before authentication, so that it is protected and denied requests cost least. */
const IN_FRONT: Place = { stage: 'onRequest', isLast: false }

/**
 * Limits the requests of a context: of its routes and those of nested contexts, no matter when they are declared, and
 * requests that match no route. Each request is decided once.
 *
 * @param decided marks the requests that were decided already
 * @param stage   the option `hook`
 * @returns       tells whether a route was declared since this call
 */
export function mount(
  app: FastifyInstance,
  find: Find,
  decided: symbol,
  stage: Stage | undefined,
): () => boolean {
  const findFor = (request: FastifyRequest): Http | undefined =>
    find(request.server, configOf(request), request)
  const decide = makeHook(findFor, decided)
  // Marks the config of routes that were given their own hook by addLast.
  const isDecidedLast = Symbol('tollgate.isDecidedLast')

  let hasRoutes = false
  app.addHook('onRoute', function onRoute(route) {
    hasRoutes = true
    if (route.config?.rateLimit) route.config = { ...route.config }
    // Called now, so that wrong options throw where the route is declared.
    const http = atCaller(onRoute, () => find(this, route.config, { routeOptions: route }))
    noteErrorHandler(route)
    const place = http && placeOf(http, stage)
    if (!place?.isLast) return
    route.config = Object.assign({}, route.config, { [isDecidedLast]: true })
    addLast(route, place.stage, decide)
  })

  const findAt = (own: Stage, request: FastifyRequest): Http | undefined => {
    if (isDecidedLast in configOf(request)) return undefined
    const http = findFor(request)
    const isHere = http && isAt(own, placeOf(http, stage), () => runLast(request, own, decide))
    return isHere ? http : undefined
  }
  for (const own of stage ? [stage] : [IN_FRONT.stage, BEHIND_ALL.stage]) {
    app.addHook(
      own as 'onRequest',
      makeHook((request) => findAt(own, request), decided),
    )
  }
  return () => hasRoutes
}

/** @param stage the option `hook` */
function placeOf({ isByAddress }: Http, stage: Stage | undefined): Place {
  if (stage) return { stage, isLast: true }
  return isByAddress ? IN_FRONT : BEHIND_ALL
}

/**
 * Whether the request must be decided now, by the hook that runs in the stage `own`.
 *
 * @param runsLast arranges that the request is decided after all other hooks of the stage; returns whether it could
 */
function isAt(own: Stage, place: Place, runsLast: () => boolean): boolean {
  if (place.stage !== own) return false
  if (!place.isLast) return true
  if (runsLast()) return false
  warnOfOrder()
  return true
}

let mayWarn = true

/** Warns once per process, since the reason is the version of Fastify. */
function warnOfOrder(): void {
  if (!mayWarn) return
  mayWarn = false
  warn(
    'TOLLGATE_HOOK_ORDER',
    'This version of Fastify is not known to @tollgate/fastify. Requests of routes that were declared before the plugin ' +
      'was registered, and those that match no route, are decided before hooks that were added later, so `identify` does ' +
      'not find what those leave. Register the plugin before the routes and after authentication.',
  )
}
