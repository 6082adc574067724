import type { FastifyRequest, RouteOptions } from 'fastify'

/** The stages of a request before its handler, in their order. */
export const STAGES = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const
export type Stage = (typeof STAGES)[number]

type Hook = (...args: never[]) => unknown

/** Of routes that are being declared: the hooks that are to run after all others, by stage. */
const lastOf = new WeakMap<RouteOptions, Map<Stage, Hook[]>>()

/**
 * Adds a hook to a route that is being declared, which runs after all others of its stage. Fastify runs those of a
 * context before those of a route; among the latter this one stays behind what other plugins add or put in its place.
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

/** Fastify reads the hooks of a route once all plugins are loaded; other plugins read them before that, to add some. */
function arrangeWhenRead(route: RouteOptions, stage: Stage, last: readonly Hook[]): void {
  let given: unknown = route[stage]
  let arranged: Hook[] | undefined
  Object.defineProperty(route, stage, {
    enumerable: true,
    configurable: true,
    get(): Hook[] {
      // A copy, since several routes may have been given one array; the same at each reading, since some push onto it.
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
 * Adds a hook behind all others that a request's route has in a stage, in the midst of that stage: for routes that were
 * declared before the plugin could see them, and for requests that match none. Fastify has no public way to come behind
 * the hooks of such a route, so this looks into its own record of it.
 *
 * @returns false when this version of Fastify does not keep them as expected
 */
export function runLast(request: FastifyRequest, stage: Stage, hook: Hook): boolean {
  const symbol = Object.getOwnPropertySymbols(request).find(({ description }) => description === CONTEXT)
  const context = symbol && (request as unknown as Record<symbol, Partial<Record<Stage, unknown>>>)[symbol]
  const hooks = context?.[stage]
  if (!Array.isArray(hooks)) return false
  // Fastify goes through this very list by its index, so it comes to the new one, too. Once a route: it stays there.
  if (!hooks.includes(hook)) hooks.push(hook)
  return true
}

const CONTEXT = 'fastify.context'
