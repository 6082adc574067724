import { reasonOf } from './errors.js'
import { foreignText } from './foreign-text.js'
import { elapsedMs } from './timers.js'
import type { Warn, WarningCode } from './warnings.js'

/** The time between two warnings of one code. */
const EVERY_MS = 60_000

/**
 * Lets each code through at most once a minute, for warnings of what can fail at every request.
 *
 * @param clock in ms; for tests
 */
export function onceAMinute(warn: Warn, clock: () => number = elapsedMs): Warn {
  const next = new Map<WarningCode, number>()
  return (code, text) => {
    const nowMs = clock()
    if (nowMs < (next.get(code) ?? Number.NEGATIVE_INFINITY)) return
    next.set(code, nowMs + EVERY_MS)
    warn(code, text)
  }
}

/** The message of a thrown value for a log: short, on one line. It may contain what a client sent. Never throws. */
export function thrownText(thrown: unknown): string {
  return foreignText(reasonOf(thrown))
}
