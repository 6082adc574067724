import { performance } from 'node:perf_hooks'
import * as timers from 'node:timers'

/**
 * Timers that a user's tests cannot fake. With a fake timer that stands still, a request would never be answered. They
 * come from `node:timers` when this file is loaded, and not from the globals, which a test runner may have replaced by
 * then.
 */
export const { setImmediate, setTimeout, clearTimeout } = timers

/** Resolves after `ms`. Does not keep the process alive. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

/** The time since this process started, in ms with µs as decimals. */
export const elapsedMs = performance.now.bind(performance)

/** When this process started, in ms since 1970. */
export const startedAtMs = performance.timeOrigin
