import { performance } from 'node:perf_hooks'
import * as timers from 'node:timers'

/**
 * Timers that always run. A test of a user's may put fakes in their place that stand still; a request would then
 * never be answered. So they are taken from Node once, when this file is loaded, and not from the globals, which a
 * test runner may have replaced before.
 */
export const { setImmediate, setTimeout, clearTimeout } = timers

/** Resolves after so many ms. A process that has nothing else to do may end before. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

/** The time since this process started, in ms, to the µs. */
export const elapsedMs = performance.now.bind(performance)

/** When that was, in ms since 1970. */
export const startedAtMs = performance.timeOrigin

const { Date: loadedDate } = globalThis
const { now: loadedNow } = Date
const wasFaked = !Function.prototype.toString.call(loadedNow).includes('[native code]')

/** Whether `Date` is a fake that some test sets, in place of the system's clock. */
export function isDateFaked(): boolean {
  return wasFaked || globalThis.Date !== loadedDate || Date.now !== loadedNow
}
