import { processClock, type ProcessClock } from '../../base/clocks.js'
import { elapsedMs } from '../../base/timers.js'

/** The clocks of this process; tests pass their own. */
export interface LocalClocks extends ProcessClock {
  /** A monotonic clock, in µs. */
  readonly elapsedUs: () => number
}

export const CLOCKS: LocalClocks = { ...processClock(), elapsedUs: () => elapsedMs() * 1000 }
