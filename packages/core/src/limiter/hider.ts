import type { HideId } from '../requests/key.js'
import type { Limiter } from './limiter.js'

/**
 * Under which a limiter has what hides its ids, for what tells ids to others. A registered symbol, since a process that
 * loads both builds of core has the class twice.
 */
export const HIDE_ID = Symbol.for('tollgate.hideId')

/** What hides the ids of a limiter; undefined without `hashIds`. */
export function hiderOf(limiter: Limiter): HideId | undefined {
  return (limiter as { readonly [HIDE_ID]?: HideId })[HIDE_ID]
}
