import type { Subject } from '../../plans/subject.js'

/** What became of a request that waits in line, on a plan with `wait`. */
export interface WaitingChange {
  /**
   * - `booked`: it got a place, a time at which its units have come free.
   * - `admitted`: the time of its place has come.
   * - `left`: its signal aborted, and its units went back.
   * - `late`: the process was held up beyond the end of its place, so it asks again.
   * - `closed`: the limiter was closed, and it was denied.
   */
  readonly kind: 'booked' | 'admitted' | 'left' | 'late' | 'closed'
  readonly subject: Subject
  /** The name of its plan. */
  readonly plan: string
  /** How long after it was booked the time of its place comes, in ms. */
  readonly delayMs: number
}

/** Each request that was booked was admitted, has left, was late or denied as the limiter closed, or waits now. */
export interface WaitingStats {
  readonly now: number
  /** Places that requests got. One that was late can get another. */
  readonly booked: number
  readonly admitted: number
  readonly left: number
  readonly late: number
  readonly closed: number
  /** Requests that did not fit and could not wait: the line was full or too long, or too many wait in this process. */
  readonly refused: number
}
