import type { LeaseTerms } from '../../plans/limit/limit-set.js'
import type { LeaseWish, LimitOutcome } from '../../stores/contract.js'
import type { Demand } from './demand.js'

/** A subject is hot if a lease serves so many requests: then it saves far more calls than it costs. */
export const HOT_REQUESTS = 16
/** It stays hot until a lease would serve fewer than these. */
const COOL_REQUESTS = 4
/** The fewest requests that a lease must serve: for fewer, the store decides one by one. */
const LEAST_REQUESTS = 8
/** How much more than a lease is expected to serve is asked for. */
const RESERVE = 1.25
/** A lease is at most so many times what was asked for since the one before: a burst is no rate yet. */
const GROWTH = 4
/** In a lease at least so many trips to the store must have room. */
const TRIPS = 3
/** After a failure or a refusal the next wish waits so long, in parts of a lease, and at least so many ms. */
const PAUSE = 1 / 16
const SHORTEST_PAUSE_MS = 10

/** @param holds whether it has leases already */
export function isHot({ requestsPerMs }: Demand, lengthMs: number, holds: boolean): boolean {
  return requestsPerMs * lengthMs >= (holds ? COOL_REQUESTS : HOT_REQUESTS)
}

/** Whether the store is near enough that a lease pays before it ends. */
export function isInTime(tripMs: number, lengthMs: number): boolean {
  return TRIPS * tripMs < lengthMs
}

/** A lease that covers the demand while it lasts. What is asked for from now on counts for the next one. */
export function wishOf(id: string, demand: Demand, { share, lengthUs, lagUs }: LeaseTerms): LeaseWish {
  const least = Math.ceil(LEAST_REQUESTS * demand.unitsARequest)
  const expected = Math.ceil((demand.unitsPerMs * lengthUs * RESERVE) / 1000)
  const most = Math.max(Math.min(expected, GROWTH * demand.takeRecent()), least)
  return { id, most, least, share, lengthUs, lagUs }
}

/** Whether the store would grant a lease, as far as its last outcome tells. */
export function isGrantable(limits: readonly LimitOutcome[], { share }: LeaseTerms): boolean {
  let least = Infinity
  for (const { remaining } of limits) least = Math.min(least, remaining)
  return Math.floor(least * share) >= LEAST_REQUESTS
}

/** How long before a lease is over its renewal leaves, in ms: a renewal must be back in time, whatever delays it a little. */
export function leadMsOf(tripMs: number, lengthMs: number): number {
  return Math.min(Math.max(2 * tripMs + 1, lengthMs / 8), lengthMs / 3)
}

export function pauseMsOf(lengthMs: number): number {
  return Math.max(lengthMs * PAUSE, SHORTEST_PAUSE_MS)
}
