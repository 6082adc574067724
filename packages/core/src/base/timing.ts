import { clearTimeout, elapsedMs, setTimeout } from './timers.js'

/** A clock that only goes forward, and timers that go by it. */
export interface Timing {
  /** In ms from any moment, with µs as decimals. */
  now(): number
  /**
   * Calls `act` once, after `ms`.
   *
   * @param keepsAlive whether the process must not exit before
   * @returns what cancels it
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

/** How often a clock that a test sets is read, in ms: it does not go by timers. */
const READ_EVERY_MS = 5

/**
 * The timing of this process.
 *
 * @param testClock set by a test, in ms: then all goes by it. Where it goes back, no time passes
 */
export function timingOf(testClock?: () => number): Timing {
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
