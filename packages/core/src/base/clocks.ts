import { clearTimeout, elapsedMs, setTimeout, startedAtMs } from './timers.js'

const { Date: loadedDate } = globalThis
const { now: loadedNow } = Date
const wasFaked = !Function.prototype.toString.call(loadedNow).includes('[native code]')

/** Whether a test has replaced `Date` or `Date.now`. */
function isDateFaked(): boolean {
  return wasFaked || globalThis.Date !== loadedDate || Date.now !== loadedNow
}

/** This process's clock, for what it counts itself. If a test fakes `Date`, it shows the faked time, in whole ms. */
export interface ProcessClock {
  /**
   * The time in ms since 1970, with µs as decimals: a clock of whole ms would give units back up to 1 ms early. It follows
   * the system's clock forward, such as after the machine slept, but never back, or expired units would count again.
   */
  readonly nowMs: () => number
  /** How far the system's clock is behind `nowMs` since it was set back, in ms. For calendar windows. */
  readonly behindMs: () => number
}

/** If the system's clock differs from the expected time by more than this, in ms, it was set. */
const CLOCKS_PART_MS = 1000

/** How often the system's clock is read, in ms. Reading both clocks each time would take twice as long. */
const CHECKED_EVERY_MS = 10

export function processClock(): ProcessClock {
  let origin = startedAtMs
  let behind = 0
  let isStarted = false
  let checkAt = 0
  const nowMs = (): number => {
    if (isDateFaked()) {
      checkAt = behind = 0
      return Date.now()
    }
    const elapsed = elapsedMs()
    if (elapsed < checkAt) return origin + elapsed
    checkAt = elapsed + CHECKED_EVERY_MS
    const system = Date.now()
    const ahead = system - origin - elapsed
    // Before the first use nothing has been counted, so the clock may still go back.
    if (ahead > CLOCKS_PART_MS || (!isStarted && ahead < -CLOCKS_PART_MS)) origin += ahead
    const back = Math.max(origin + elapsed - system, 0)
    // Changes only if it differs by much: calendar windows are computed again for each new value.
    if (Math.abs(back - behind) > CLOCKS_PART_MS) behind = back > CLOCKS_PART_MS ? back : 0
    isStarted = true
    return origin + elapsed
  }
  return { nowMs, behindMs: () => behind }
}

/** The time in ms by a clock that cannot be set, for durations. If a test fakes `Date`, it is the faked time. */
export function steadyMs(): number {
  return isDateFaked() ? Date.now() : startedAtMs + elapsedMs()
}

/** A clock that only goes forward, and timers that follow it. */
export interface Timing {
  /** The time in ms since some moment, with µs as decimals. */
  now(): number
  /**
   * Calls `act` once, after `ms`.
   *
   * @param keepsAlive whether it keeps the process from exiting before
   * @returns a function that cancels it
   */
  after(ms: number, act: () => void, keepsAlive: boolean): () => void
}

export const processTiming: Timing = {
  now: elapsedMs,
  after(ms, act, keepsAlive) {
    const timer = setTimeout(act, ms)
    if (!keepsAlive) timer.unref()
    return () => clearTimeout(timer)
  },
}

/** How often a test's clock is read, in ms: Node's timers do not follow it. */
const READ_EVERY_MS = 5

/**
 * The timing of this process.
 *
 * @param testClock a test's clock, in ms, which replaces the real one. When it goes back, no time passes
 */
export function timingFor(testClock?: () => number): Timing {
  if (!testClock) return processTiming
  let last = testClock()
  let wentBackMs = 0
  const now = (): number => {
    const read = testClock()
    if (read < last) wentBackMs += last - read
    last = read
    return read + wentBackMs
  }
  return {
    now,
    after(ms, act, keepsAlive) {
      const dueMs = now() + ms
      const look = (): void => {
        if (now() >= dueMs) act()
        else cancel = processTiming.after(READ_EVERY_MS, look, keepsAlive)
      }
      let cancel = processTiming.after(Math.min(ms, READ_EVERY_MS), look, keepsAlive)
      return () => cancel()
    },
  }
}
