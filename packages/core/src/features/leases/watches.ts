import type { Part } from '../../requests/request.js'
import { HOT_REQUESTS } from './sizes.js'

/** Subjects that are watched, at most: then all begin anew, since a count is of half a second at most. */
const MOST_WATCHED = 10_000

/** What a subject has asked for since a time, in ms. */
export interface Watch {
  requests: number
  units: number
  sinceMs: number
}

/** Watches how many requests subjects make that hold no lease. */
export class Watches {
  readonly #clock: () => number
  readonly #watched = new Map<string, Watch>()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Counts a request. Returns whether its subject is hot: it made enough requests for a lease in the time of one. */
  note({ key, cost, set }: Part): boolean {
    const watch = this.#watched.get(key)
    if (!watch) {
      if (this.#watched.size >= MOST_WATCHED) this.#watched.clear()
      this.#watched.set(key, { requests: 1, units: cost, sinceMs: this.#clock() })
      return false
    }
    watch.requests += 1
    watch.units += cost
    // The clock is read only when enough requests came.
    if (watch.requests < HOT_REQUESTS) return false
    const now = this.#clock()
    if ((now - watch.sinceMs) * 1000 <= (set.lease?.lengthUs ?? 0)) return true
    Object.assign(watch, { requests: 0, units: 0, sinceMs: now })
    return false
  }

  /** What a subject has asked for. It is watched no more. */
  take(key: string): Readonly<Watch> {
    const watch = this.#watched.get(key) ?? { requests: 0, units: 0, sinceMs: this.#clock() }
    this.#watched.delete(key)
    return watch
  }
}
