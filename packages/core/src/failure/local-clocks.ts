import { microsecondClock } from '../base/microsecond-clock.js'
import { elapsedMs } from '../base/timers.js'

/** The clocks of this process; tests pass their own. */
export interface LocalClocks {
  /** The time in ms since 1970. */
  readonly nowMs: () => number
  /** A monotonic clock, in µs. */
  readonly elapsedUs: () => number
}

export const CLOCKS: LocalClocks = { nowMs: microsecondClock(), elapsedUs: () => elapsedMs() * 1000 }
