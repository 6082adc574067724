import { elapsedMs, isDateFaked, startedAtMs } from './timers.js'

/** How far the two clocks of a process may part before the finer one is set anew, in ms. */
const CLOCKS_PART_MS = 1000

/**
 * The time in ms since 1970, to the µs: a clock that counts whole ms would free units up to one of them early. It
 * follows the system's clock when that is set, or the machine has slept; and `Date` to the ms where a test fakes it.
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
