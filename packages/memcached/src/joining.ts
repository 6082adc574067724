import type { Reply } from './clients/port.js'

/** So often a new process looks whether others write the time, before it goes by its own. */
const MOST_LOOKS = 4

/**
 * A process whose clock is later than the common time that it found. It would push all processes forward, and windows would be
 * skipped. So it begins with the common time, and goes by its own only if nobody else writes one.
 */
export class Joining {
  readonly #found: Reply
  /** As the process's own clock would have it. */
  readonly origin: number
  #looks = 0

  constructor(found: Reply, origin: number) {
    this.#found = found
    this.origin = origin
  }

  /** What a further look at the common time says: others write it, nobody does, or it is too early to know. */
  look(reply: Reply): 'others' | 'nobody' | 'unknown' {
    if (reply !== this.#found) return 'others'
    this.#looks += 1
    return this.#looks > MOST_LOOKS ? 'nobody' : 'unknown'
  }
}
