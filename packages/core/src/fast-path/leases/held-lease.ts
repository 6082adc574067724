import type { LeaseReport, Outcome } from '../../stores/contract.js'

/** A report that the store has confirmed: it counts all units used so far since then. */
interface Confirmed {
  readonly used: number
  readonly outcome: Outcome
}

/** A lease as plain values. */
export interface LeaseState {
  readonly id: string
  readonly left: number
  readonly used: number
  /** The most that `left` may be. */
  readonly most: number
  readonly endsAtMs: number
  readonly isClosed: boolean
  readonly confirmed: readonly object[]
}

/** Units that this process took in advance. Times are ms of its monotonic clock. */
export class HeldLease {
  readonly id: string
  readonly granted: number
  readonly startedAtMs: number
  readonly endsAtMs: number
  /** Units that can still be served. */
  left: number
  /** Units that were served, less those that came back. */
  used = 0
  /** The most that `left` may be: the store may think that the process holds more, never that it holds less. */
  #most: number
  #isClosed = false
  readonly #confirmed: Confirmed[] = []

  /** @param startedAtMs before the wish was sent: so the lease ends here no later than at the store */
  constructor(id: string, granted: number, startedAtMs: number, endsAtMs: number) {
    this.id = id
    this.granted = granted
    this.left = granted
    this.#most = granted
    this.startedAtMs = startedAtMs
    this.endsAtMs = endsAtMs
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** For tests. */
  state(): LeaseState {
    const { id, left, used, endsAtMs } = this
    return {
      id,
      left,
      used,
      endsAtMs,
      most: this.#most,
      isClosed: this.#isClosed,
      confirmed: this.#confirmed,
    }
  }

  /** Takes units. Returns false when it has not as many, or has ended. */
  take(cost: number, nowMs: number): boolean {
    if (cost > this.left || nowMs >= this.endsAtMs) return false
    this.left -= cost
    this.used += cost
    return true
  }

  /** Puts units back that were taken and are now not used. Returns false when the store may have been told that they were. */
  putBack(units: number, nowMs: number): boolean {
    if (this.#isClosed || nowMs >= this.endsAtMs || this.left + units > this.#most) return false
    this.left += units
    this.used -= units
    return true
  }

  /** A report after which the process holds at most `kept` units; without any left the lease is closed. */
  report(kept: number): LeaseReport {
    this.left = Math.min(this.left, kept)
    this.#most = this.left
    if (this.left === 0) this.#isClosed = true
    return { id: this.id, used: this.used, left: this.left }
  }

  /** Serves nothing any more. Returns the units that it still had. */
  close(): number {
    const { left } = this
    this.left = 0
    this.#isClosed = true
    return left
  }

  confirm(used: number, outcome: Outcome): void {
    this.#confirmed.push({ used, outcome })
  }

  /**
   * With what the store confirmed the units that were used when `used` was reached.
   *
   * @returns its outcome and how many units it counted; undefined if it has not confirmed them
   */
  confirmation(used: number): { readonly outcome: Outcome; readonly units: number } | undefined {
    let before = 0
    for (const confirmed of this.#confirmed) {
      if (confirmed.used >= used) return { outcome: confirmed.outcome, units: confirmed.used - before }
      before = confirmed.used
    }
    return undefined
  }
}
