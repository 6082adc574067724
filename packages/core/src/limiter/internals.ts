import { warn, type Warn } from '../base/warnings.js'
import type { HideId } from '../requests/key.js'
import type { Limiter } from './limiter.js'

/** What other parts of Tollgate may know of a limiter, and its users need not. */
export interface Internals {
  /** What hides its ids; undefined without `hashIds`. */
  readonly hide: HideId | undefined
  /** Warns, unless it was made with `warnings: false`. */
  readonly warn: Warn
  /** Lets another limiter on its store have its name, or do without one. */
  readonly freeName: () => void
}

/** A registered symbol, since a process that loads both builds of core has each class twice. */
export const INTERNALS = Symbol.for('tollgate.internals')

export function internalsOf(limiter: Limiter): Internals {
  return (limiter as { readonly [INTERNALS]?: Internals })[INTERNALS] ?? NONE
}

/** Of a limiter that somebody has wrapped. */
const NONE: Internals = { hide: undefined, warn, freeName: () => {} }
