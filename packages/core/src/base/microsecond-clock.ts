import { elapsedMs, isDateFaked, startedAtMs } from './timers.js'

/** The finer clock is set to the system's when they differ by more than this, in ms. */
const CLOCKS_PART_MS = 1000

/**
 * Returns the time in ms since 1970, with µs as decimals. A clock of whole ms would give units back up to 1 ms early.
 * It follows the system's clock after a change of the time or a sleep of the machine. Where a test fakes `Date`, it
 * returns that, in whole ms.
 */
export function microsecondClock(): () => number {
  let origin = startedAtMs
  return () => {
    const system = Date.now()
    if (isDateFaked()) return system
    const now = origin + elapsedMs()
    if (Math.abs(now - system) <= CLOCKS_PART_MS) return now
    origin += system - now
    return system
  }
}
