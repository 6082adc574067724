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

/** Receives what becomes of requests that wait. */
export interface WaitingListener {
  waiting(change: WaitingChange): void
  /** A request of a plan that waits got no place. */
  refusedPlace(): void
}
