import { warn } from '@tollgate/core/adapter'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { makeHook, noteErrorHandler, type Http } from './adapter.js'
import { addLast, runLast, type Stage } from './last.js'

/** What a route as it is declared, and that of a request, have in common. */
export interface Route {
  readonly method?: string | readonly string[]
  readonly url?: string | undefined
  readonly config?: { readonly rateLimit?: unknown }
}

/** By what the requests of a route are decided; undefined: not at all. Throws when the route's options are wrong. */
export type Find = (server: FastifyInstance, route: Route) => Http | undefined

/** Where a request is decided. */
interface Place {
  readonly stage: Stage
  /** After all other hooks of the stage; else where the plugin was registered among them. */
  readonly isLast: boolean
}

/** Behind authentication wherever an application has it, and before the handler. */
const BEHIND_ALL: Place = { stage: 'preHandler', isLast: true }
/** Where authentication can be guarded, and a denied request costs least. */
const IN_FRONT: Place = { stage: 'onRequest', isLast: false }

/**
 * Has the requests of a context decided, each once: those of routes that are declared later or were before, in any
 * context within, and those that match none.
 *
 * @param decided the requests that were
 * @param stage   as the user said it, if so
 * @returns       whether a route was declared since
 */
export function mount(
  app: FastifyInstance,
  find: Find,
  decided: WeakSet<FastifyRequest>,
  stage: Stage | undefined,
): () => boolean {
  const decide = makeHook((request) => find(request.server, request.routeOptions), decided)
  // In the config of a route: a hook of its own decides.
  const isDecidedLast = Symbol('tollgate.isDecidedLast')

  let hasRoutes = false
  app.addHook('onRoute', function (route) {
    hasRoutes = true
    // Here already, so that a mistake is thrown where the route is declared.
    const http = find(this, route)
    noteErrorHandler(route)
    const place = http && placeOf(http, stage)
    if (!place?.isLast) return
    route.config = Object.assign({}, route.config, { [isDecidedLast]: true })
    addLast(route, place.stage, decide)
  })

  const findAt = (own: Stage, request: FastifyRequest): Http | undefined => {
    const { routeOptions, server } = request
    if (isDecidedLast in routeOptions.config) return undefined
    const http = find(server, routeOptions)
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

/** @param stage as the user said it, if so */
function placeOf({ isByAddress }: Http, stage: Stage | undefined): Place {
  if (stage) return { stage, isLast: true }
  return isByAddress ? IN_FRONT : BEHIND_ALL
}

/**
 * Whether a request is decided by a hook of this stage.
 *
 * @param waits has it decided after all other hooks of the stage; false when that cannot be
 */
function isAt(own: Stage, place: Place, waits: () => boolean): boolean {
  if (place.stage !== own) return false
  if (!place.isLast) return true
  if (waits()) return false
  warnOfOrder()
  return true
}

let mayWarn = true

/** Once a process: it is of the version of Fastify. */
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
