import type { LimitSet } from '../../plans/limit/limit-set.js'
import type { Hold, LeaseOrder } from '../held-units.js'

/**
 * The most requests in one call, and the most limits of all its requests together: a larger call would block the server for
 * other clients for too long. 1024 limits take Redis about 4 ms. A request with more of them is sent alone.
 */
export const LARGEST_BATCH = 128
export const MOST_LIMITS_A_CALL = 1024

/**
 * A reservation, and what is told of one, is written with all others that its subject has open, up to 1000: that takes as long
 * as so many limits.
 */
const LIMITS_A_RESERVATION = 16

/** What the size of a request is measured by. */
export interface Sized {
  readonly parts: readonly { readonly set: LimitSet }[]
  readonly hold?: Hold | undefined
  readonly order?: LeaseOrder | undefined
}

/** How many limits a request is about, or takes as long as. */
export function limitsIn({ parts, hold, order }: Sized): number {
  const isHeavy = hold?.kind === 'reservation' || (order && !order.wish)
  let limits = isHeavy ? LIMITS_A_RESERVATION * parts.length : 0
  for (let i = 0; i < parts.length; i += 1) limits += (parts[i] as Sized['parts'][number]).set.limits.length
  return limits
}

/** Divides what is to be sent into calls that are not too large. */
export function inCalls<Item>(items: readonly Item[], limitsOf: (item: Item) => number): Item[][] {
  const calls: Item[][] = []
  let call: Item[] = []
  let limits = 0
  for (const item of items) {
    const more = limitsOf(item)
    if (call.length === 0 || call.length === LARGEST_BATCH || limits + more > MOST_LIMITS_A_CALL) {
      calls.push((call = []))
      limits = 0
    }
    call.push(item)
    limits += more
  }
  return calls
}
