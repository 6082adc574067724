import { ConfigError } from '../base/errors.js'
import { isOptions } from '../base/options.js'
import type { LimitDefaults, LimitInput } from './limit/limit.js'
import { compileLimits, type Plan } from './plan.js'

/** A subject's own limits, instead of a plan: one limit, several that all hold at once, or `unlimited`. */
export type OwnLimits = LimitInput | readonly LimitInput[] | 'unlimited'

/** The plan name in decisions, events and metrics for subjects with limits of their own. */
export const OWN_LIMITS = 'own-limits'

/** The most limits that a subject can bring. More are most likely a mistake, and would burden the store. */
export const MOST_LIMITS = 32
/** No text of a valid limit is longer. */
const LONGEST_TEXT = 200
/** How deep options are nested at most: the options of a lease, in a limit, in a list. */
const DEEPEST = 3

/**
 * Checks limits that a subject brings, and compiles them.
 *
 * @throws {ConfigError} whose path begins with `limits`, when they are wrong
 */
export function compileOwnLimits(input: unknown, defaults: LimitDefaults): Plan {
  if (input === 'blocked') {
    const remedy = "to block it, put it on a plan: plans: { suspended: 'blocked' }"
    throw ConfigError.wrong('limits', input, `limits such as ['40/min'], or 'unlimited'; ${remedy}`)
  }
  if (Array.isArray(input) && input.length > MOST_LIMITS) {
    throw new ConfigError('limits', `got a list of ${input.length}, expected at most ${MOST_LIMITS} limits`)
  }
  return compileLimits(OWN_LIMITS, input, 'limits', { defaults })
}

/**
 * A text that is equal for limits with the same content, even if the arrays and objects are new.
 *
 * @returns undefined for a value that is too long or too deep, or that no valid limits have
 */
export function contentFor(input: unknown): string | undefined {
  if (typeof input === 'string') return input.length <= LONGEST_TEXT ? `'${input}` : undefined
  if (!Array.isArray(input)) return contentIn(input, 1)
  if (input.length > MOST_LIMITS) return undefined
  let content = '['
  // A loop, since this runs for every request.
  for (let i = 0; i < input.length; i += 1) {
    const own = contentIn(input[i], 1)
    if (own === undefined) return undefined
    content += own
  }
  return content
}

/** Each part has its length or an end mark, so that different limits never give the same text. */
function contentIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') {
    return value.length <= LONGEST_TEXT ? `${value.length}:${value}` : undefined
  }
  if (typeof value === 'number' || typeof value === 'boolean' || value === undefined) return `${value};`
  if (value instanceof Date) return `@${value.getTime()};`
  return isOptions(value) && depth <= DEEPEST ? contentForOptions(value, depth) : undefined
}

function contentForOptions(given: object, depth: number): string | undefined {
  let content = '{'
  for (const name in given) {
    const own = contentIn(given[name as keyof typeof given], depth + 1)
    if (own === undefined) return undefined
    content += `${name.length}:${name}${own}`
  }
  return `${content}}`
}
