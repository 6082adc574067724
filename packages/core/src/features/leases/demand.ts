import type { LeaseTerms } from '../../plans/limit/limit-set.js'
import type { LeaseWish, LimitOutcome } from '../../stores/contract.js'

/** A rate is measured over at least this long, in ms. */
const SHORTEST_MS = 5

/** How much one process asks for one subject, per ms. A steep rise shows at once, any other change by half at each reading. */
export class Demand {
  requestsPerMs = 0
  unitsPerMs = 0
  /** Units since `takeRecent` was last called. */
  #recent = 0
  #requests = 0
  #units = 0
  #sinceMs: number

  constructor(nowMs: number) {
    this.#sinceMs = nowMs
  }

  /** Counts what was asked since the time that it was made with. */
  begin(requests: number, units: number): void {
    this.#requests = requests
    this.#units = units
    this.#recent = units
  }

  note(cost: number): void {
    this.#requests += 1
    this.#units += cost
    this.#recent += cost
  }

  /** Forgets a request that was noted and then not served. */
  forget(cost: number): void {
    this.#requests -= 1
    this.#units -= cost
    this.#recent -= cost
  }

  /** The units asked for since this was last called. */
  takeRecent(): number {
    const recent = this.#recent
    this.#recent = 0
    return recent
  }

  /** Measures the time since the last reading, unless that is too short. */
  read(nowMs: number): void {
    const elapsed = nowMs - this.#sinceMs
    if (elapsed < SHORTEST_MS) return
    this.requestsPerMs = smoothedRate(this.requestsPerMs, this.#requests / elapsed)
    this.unitsPerMs = smoothedRate(this.unitsPerMs, this.#units / elapsed)
    this.#requests = 0
    this.#units = 0
    this.#sinceMs = nowMs
  }

  /** Units of an average request, at least 1. */
  get unitsARequest(): number {
    return this.requestsPerMs > 0 ? Math.max(this.unitsPerMs / this.requestsPerMs, 1) : 1
  }
}

/** The average of both, unless the rate has more than doubled: even a steady rate varies a little. */
function smoothedRate(before: number, now: number): number {
  return now > 2 * before ? now : (before + now) / 2
}

/** A subject is hot if a lease would serve this many requests: then it saves far more calls than it costs. */
export const HOT_REQUESTS = 16
/** It stays hot until a lease would serve fewer than these. */
const COOL_REQUESTS = 4
/** The fewest requests that a lease must serve. For fewer, the store decides them one by one. */
const LEAST_REQUESTS = 8
/** A wish asks for this many times what its lease is expected to serve. */
const RESERVE = 1.25
/** A lease is at most this many times what was asked for since the one before: a burst is not yet a rate. */
const GROWTH = 4
/** A lease must be longer than this many trips to the store. */
const TRIPS = 3
/** After a failure or a refusal, the next wish waits for this part of a lease, and at least for this many ms. */
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
export function createWish(id: string, demand: Demand, { share, lengthUs, lagUs }: LeaseTerms): LeaseWish {
  const least = Math.ceil(LEAST_REQUESTS * demand.unitsARequest)
  const expected = Math.ceil((demand.unitsPerMs * lengthUs * RESERVE) / 1000)
  const most = Math.max(Math.min(expected, GROWTH * demand.takeRecent()), least)
  return { id, most, least, share, lengthUs, lagUs }
}

/** Whether the store would grant a lease, by its last outcome. */
export function isGrantable(limits: readonly LimitOutcome[], { share }: LeaseTerms): boolean {
  let least = Infinity
  for (const { remaining } of limits) least = Math.min(least, remaining)
  return Math.floor(least * share) >= LEAST_REQUESTS
}

/** How long before a lease's end its renewal is sent, in ms: small delays must not make the answer late. */
export function leadMsOf(tripMs: number, lengthMs: number): number {
  return Math.min(Math.max(2 * tripMs + 1, lengthMs / 8), lengthMs / 3)
}

export function pauseMsOf(lengthMs: number): number {
  return Math.max(lengthMs * PAUSE, SHORTEST_PAUSE_MS)
}
