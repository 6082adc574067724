import type { LimitSet } from '../plans/limit-set.js'

/**
 * The most requests in one call, and the most limits of all its requests together: a larger call would block the server for
 * other clients for too long. 1024 limits take Redis about 4 ms. A request with more of them is sent alone.
 */
export const LARGEST_BATCH = 128
export const MOST_LIMITS_A_CALL = 1024

/** What the size of a request is measured by. */
export interface Sized {
  readonly parts: readonly { readonly set: LimitSet }[]
}

/** How many limits a request is about. */
export function limitsIn({ parts }: Sized): number {
  let limits = 0
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
