import type { FastifyContextConfig, FastifyRequest, RouteOptions } from 'fastify'

/** A request's stages before its handler, in order. */
export const STAGES = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const
/** The name of a stage in which requests can be limited. */
export type Stage = (typeof STAGES)[number]

type Hook = (...args: never[]) => unknown

/** The hooks that must run last, by route and stage. */
const lastOf = new WeakMap<RouteOptions, Map<Stage, Hook[]>>()

/**
 * Adds a hook to a route while the route is declared. The hook runs after all others of its stage: Fastify runs a context's
 * hooks before a route's, and this one stays last even if other plugins change the route's list.
 */
export function addLast(route: RouteOptions, stage: Stage, hook: Hook): void {
  const stages = lastOf.get(route) ?? new Map<Stage, Hook[]>()
  lastOf.set(route, stages)
  const known = stages.get(stage)
  if (known) {
    known.push(hook)
    return
  }
  const last = [hook]
  stages.set(stage, last)
  arrangeWhenRead(route, stage, last)
}

/**
 * Replaces the route's hook list with an accessor that moves the last hooks to the end at each read. Fastify reads the list once
 * all plugins are loaded. Other plugins may read and change it before.
 */
function arrangeWhenRead(route: RouteOptions, stage: Stage, last: readonly Hook[]): void {
  let given: unknown = route[stage]
  let arranged: Hook[] | undefined
  Object.defineProperty(route, stage, {
    enumerable: true,
    configurable: true,
    get(): Hook[] {
      // A copy, since several routes may share one array. The same copy at each read, since plugins push onto it.
      arranged ??= given === undefined ? [] : ([given].flat() as Hook[])
      const others = arranged.filter((hook) => !last.includes(hook))
      arranged.splice(0, arranged.length, ...others, ...last)
      return arranged
    },
    set(hooks: unknown) {
      given = hooks
      arranged = undefined
    },
  })
}

/**
 * Adds a hook at the end of a stage while that stage runs: for routes declared before the plugin was registered, and for
 * requests that match no route. Fastify has no public API for this, so the hook goes into Fastify's internal list of the route.
 *
 * @returns false when this version of Fastify has no such list
 */
export function runLast(request: FastifyRequest, stage: Stage, hook: Hook): boolean {
  const hooks = contextOf(request)?.[stage]
  if (!Array.isArray(hooks)) return false
  // Fastify iterates over this list by index, so it will reach the new hook. The hook stays in the list of the route.
  if (!hooks.includes(hook)) hooks.push(hook)
  return true
}

/** What Fastify keeps of a route. */
type RouteContext = Partial<Record<Stage, unknown>> & { readonly config?: FastifyContextConfig }

const CONTEXT = 'fastify.context'
/** Where requests have it. Each copy of Fastify has its own symbol, so another copy's symbol finds nothing. */
let contextSymbol: symbol | undefined

function contextOf(request: FastifyRequest): RouteContext | undefined {
  const given = request as unknown as Readonly<Record<symbol, RouteContext | undefined>>
  const known = contextSymbol && given[contextSymbol]
  if (known) return known
  contextSymbol = Object.getOwnPropertySymbols(request).find(({ description }) => description === CONTEXT)
  return contextSymbol && given[contextSymbol]
}

/** The config of a request's route. `routeOptions` has it, too, but makes a new object of all options at each read. */
export function configOf(request: FastifyRequest): FastifyContextConfig {
  return contextOf(request)?.config ?? request.routeOptions.config
}
