import { elapsedMs, isDateFaked, startedAtMs } from './timers.js'

/** The finer clock is set to the system's when they differ by more than this, in ms. */
const CLOCKS_PART_MS = 1000

/** The system's clock is read again after this time, in ms: to read both clocks takes twice as long. */
const CHECKED_EVERY_MS = 10

/**
 * Returns the time in ms since 1970, with µs as decimals. A clock of whole ms would give units back up to 1 ms early.
 * Within 10 ms it follows the system's clock after a change of the time or a sleep of the machine. Where a test fakes `Date`, it
 * returns that, in whole ms.
 */
export function microsecondClock(): () => number {
  let origin = startedAtMs
  let checkAt = 0
  return () => {
    if (isDateFaked()) {
      checkAt = 0
      return Date.now()
    }
    const elapsed = elapsedMs()
    if (elapsed < checkAt) return origin + elapsed
    checkAt = elapsed + CHECKED_EVERY_MS
    const now = origin + elapsed
    const system = Date.now()
    if (Math.abs(now - system) <= CLOCKS_PART_MS) return now
    origin += system - now
    return system
  }
}
