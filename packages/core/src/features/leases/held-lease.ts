import type { LeaseReport, Outcome } from '../../stores/contract.js'

/** A report that the store has, or may have. */
interface Report {
  /** The number of the last use in it. */
  readonly upTo: number
  readonly used: number
  /** The store's answer, once it is there: it has counted all these units since then. */
  outcome?: Outcome
}

/** A lease as plain values. */
export interface LeaseState {
  readonly id: string
  readonly left: number
  readonly used: number
  readonly endsAtMs: number
  readonly isClosed: boolean
  /** How many uses there were. */
  readonly uses: number
  readonly reports: readonly object[]
}

/** Units that this process took in advance. Times are ms of its monotonic clock. */
export class HeldLease {
  readonly id: string
  readonly granted: number
  readonly endsAtMs: number
  /** By the store's clock. */
  readonly endsAtUs: number
  /** Units that can still be served. */
  left: number
  /** Units that were served, less those that came back. */
  used = 0
  /** Units that were given back and that the store has not confirmed yet. */
  #returning = 0
  #uses = 0
  #isClosed = false
  #isWithheld = false
  readonly #reports: Report[] = []

  /**
   * @param outcome     of its wish
   * @param startedAtMs before the wish was sent: so the lease ends here no later than at the store
   */
  constructor(id: string, { limits, at, lease }: Outcome, startedAtMs: number) {
    const endsInUs = lease?.endsInUs ?? 0
    this.id = id
    this.granted = limits[0]?.granted ?? 0
    this.left = this.granted
    this.endsAtMs = startedAtMs + endsInUs / 1000
    this.endsAtUs = at + endsInUs
  }

  /** Unused units that the store may still count as on lease. */
  get idle(): number {
    return this.left + this.#returning
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Uses are numbered from 1: this is the last. */
  get lastUse(): number {
    return this.#uses
  }

  /** For tests. */
  state(): LeaseState {
    const { id, left, used, endsAtMs } = this
    const isClosed = this.#isClosed || this.#isWithheld
    return { id, left, used, endsAtMs, isClosed, uses: this.#uses, reports: this.#reports }
  }

  /** Takes units. Returns false if it has too few, or has ended. */
  take(cost: number, nowMs: number): boolean {
    if (cost > this.left || nowMs >= this.endsAtMs || this.#isWithheld) return false
    this.left -= cost
    this.used += cost
    this.#uses += 1
    return true
  }

  /**
   * Puts units of a use back. Returns false if the use may have been reported: the store counts it as of then, so its units
   * cannot be used again at a later time.
   */
  putBack(use: number, units: number, nowMs: number): boolean {
    const isTold = use <= (this.#reports.at(-1)?.upTo ?? 0)
    if (this.#isClosed || nowMs >= this.endsAtMs || isTold) return false
    this.left += units
    this.used -= units
    return true
  }

  /** A report after which the process holds at most `kept` units; without any left the lease is closed. */
  report(kept: number): LeaseReport {
    const left = this.#isWithheld ? 0 : Math.min(this.left, kept)
    this.#returning += this.left - left
    this.left = left
    if (this.left === 0) this.#isClosed = true
    this.#reports.push({ upTo: this.#uses, used: this.used })
    return { id: this.id, used: this.used, left: this.left }
  }

  /** Serves nothing, and is given back with the next report. */
  withhold(): void {
    this.#isWithheld = true
  }

  /** Serves nothing any more. Returns the units that it still had. */
  close(): number {
    const { left } = this
    this.left = 0
    this.#isClosed = true
    return left
  }

  /** Whether it had ended when the store decided this. Then all that was out had counted as used. */
  isOver({ at }: Outcome): boolean {
    return at >= this.endsAtUs
  }

  /** The answer to the last report. */
  confirm(outcome: Outcome): void {
    const last = this.#reports.at(-1)
    if (!last || this.isOver(outcome)) return
    last.outcome = outcome
    this.#returning = 0
  }

  /**
   * The store's answer to the report that included a use.
   *
   * @returns its outcome and how many units it counted; undefined if that is not known
   */
  confirmation(use: number): { readonly outcome: Outcome; readonly units: number } | undefined {
    const i = this.#reports.findIndex(({ upTo }) => upTo >= use)
    const { outcome, used = 0 } = this.#reports[i] ?? {}
    return outcome && { outcome, units: used - (this.#reports[i - 1]?.used ?? 0) }
  }
}
