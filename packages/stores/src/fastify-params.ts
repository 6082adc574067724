import { ConfigError } from '@tollgate/core'
import { UNREACHABLE } from './hit.js'
import { encodeName, needWindow, quotaOf } from './limited.js'

/** What the store answers to the plugin. */
export interface FastifyHits {
  /** The key's requests in the window. More than `max`: the request is refused. */
  current: number
  /** ms until there is room again. */
  ttl: number
}

/** What the plugin gives its store: its options, overridden by a route's. Of any type, until checked. */
export interface FastifyParams {
  readonly max?: unknown
  readonly timeWindow?: unknown
  readonly ban?: unknown
  readonly continueExceeding?: unknown
  readonly exponentialBackoff?: unknown
  readonly groupId?: unknown
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string }
}

/** What happens to clients whose requests are refused. */
export interface Penalties {
  /** How many refused requests a client may send before it is banned; undefined: any number. */
  readonly ban: number | undefined
  /** Whether a refused request begins a whole window in which all are refused. */
  readonly renews: boolean
}

/** @throws {ConfigError} when an option cannot work with this store */
export function needParams(params: FastifyParams): Penalties {
  const { max, timeWindow, ban, continueExceeding, exponentialBackoff } = params
  if (typeof max !== 'function') quotaOf(max, 'max')
  if (typeof timeWindow !== 'function') needWindow(timeWindow, 'timeWindow')
  if (exponentialBackoff === true) {
    const problem = 'this store cannot double a block with each refused request'
    throw new ConfigError('exponentialBackoff', `${problem}: leave it out, or write continueExceeding: true`)
  }
  // A ban that no client can reach is no ban.
  const isBan = typeof ban === 'number' && ban >= 0 && ban < UNREACHABLE
  return { ban: isBan ? Math.floor(ban) : undefined, renews: continueExceeding === true }
}

/**
 * Where a route's requests are counted: in its group, or by itself, together with its HEAD requests. Handlers that belong to no
 * route are numbered in the order in which they are made. The name has no space.
 */
export function namespaceOf({ groupId, routeInfo }: FastifyParams, next: () => number): string {
  if (typeof groupId === 'string' && groupId !== '') return `group:${encodeName(groupId, 'groupId')}`
  const { method, url } = routeInfo ?? {}
  if (method === undefined || url === undefined) return `handler:${next()}`
  const methods = [method].flat().map((name) => (name === 'HEAD' ? 'GET' : name))
  encodeName(url, 'url')
  return [...new Set(methods)].toSorted().join() + encodeURI(url)
}
