import type { Delays } from './loop-delay.js'

/** How busy the process is. */
export interface Load extends Delays {
  /** Requests in flight, without the one that is asked about. */
  readonly inFlight: number
  /** The limit of the gradient. */
  readonly limit: number
}

/** From when on a limiter refuses. */
export interface Bounds {
  readonly maxInFlight: number
  readonly maxDelayMs: number
}

/**
 * Whether a request is let in, by trunk reservation: a telephone exchange accepts calls of less value only while more
 * than a reserve of its lines is free. Of `ranks` ranks, rank 0 is let in up to an equal share of the limit, the next
 * up to two shares, the last up to all of it. So when one is refused, all before it in the order are refused, too.
 *
 * @param rank the place of the request's plan in the order: 0 is refused first
 */
export function isLetIn(load: Load, bounds: Bounds, rank: number, ranks: number): boolean {
  const share = (rank + 1) / ranks
  const limit = Math.min(load.limit, bounds.maxInFlight)
  // With nothing in flight nothing can be overloaded by requests, so one of each plan passes.
  const hasRoom = load.inFlight === 0 || load.inFlight < limit * share
  // The last plan is judged by this turn of the event loop alone: a long one would refuse all that comes in the next.
  const delayMs = rank === ranks - 1 ? load.delayMs : Math.max(load.delayMs, load.beforeMs)
  return hasRoom && delayMs <= bounds.maxDelayMs * share
}

/** The most requests in flight of the last rank; undefined while there is no limit. */
export function limitOf({ limit }: Load, { maxInFlight }: Bounds): number | undefined {
  const least = Math.min(limit, maxInFlight)
  return least === Infinity ? undefined : Math.floor(least)
}
