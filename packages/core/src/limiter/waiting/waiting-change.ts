import type { Subject } from '../../plans/subject.js'

/** What became of a request that waits in line, on a plan with `wait`. */
export interface WaitingChange {
  /**
   * - `booked`: it got a place, the time at which its units will be free.
   * - `admitted`: the time of its place came, and it was let in.
   * - `left`: its signal aborted, and its units went back.
   * - `late`: the process was held up until the place was over, so the request asks again.
   * - `closed`: the limiter was closed, and the request was denied.
   * - `blocked`: a rule blocks its subject now, and the request was denied.
   */
  readonly kind: 'booked' | 'admitted' | 'left' | 'late' | 'closed' | 'blocked'
  /** The subject that pays. */
  readonly subject: Subject
  /** The name of its plan. */
  readonly plan: string
  /** How long after the booking the time of the place comes, in ms. */
  readonly delayMs: number
}

/**
 * Counts of requests that got a place in line, in this process: see `WaitingChange`. `booked` is the sum of `now`,
 * `admitted`, `left`, `late`, `closed` and `blocked`.
 */
export interface WaitingStats {
  /** Requests that wait in line now. */
  readonly now: number
  /** Places that requests got. One that was late can get another. */
  readonly booked: number
  readonly admitted: number
  readonly left: number
  readonly late: number
  readonly closed: number
  readonly blocked: number
  /** Requests that did not fit and could not wait: the line was full or too long, or too many waited in this process. */
  readonly refused: number
}
