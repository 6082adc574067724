/** A rate is measured over at least this long, in ms. */
const SHORTEST_MS = 5

/** How much one process asks of one subject, per ms. A steep rise is seen at once, all else by half at each reading. */
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
    this.requestsPerMs = risen(this.requestsPerMs, this.#requests / elapsed)
    this.unitsPerMs = risen(this.unitsPerMs, this.#units / elapsed)
    this.#requests = 0
    this.#units = 0
    this.#sinceMs = nowMs
  }

  /** Units of an average request, at least 1. */
  get unitsARequest(): number {
    return this.requestsPerMs > 0 ? Math.max(this.unitsPerMs / this.requestsPerMs, 1) : 1
  }
}

/** The average of both, unless the rate has more than doubled: a steady rate varies, and is not to be taken for more. */
function risen(before: number, now: number): number {
  return now > 2 * before ? now : (before + now) / 2
}
