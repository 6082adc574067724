import { reasonOf } from './errors.js'
import { elapsedMs } from './timers.js'
import type { Warn, WarningCode } from './warnings.js'

/** What fails at each request is not to fill the log. */
const EVERY_MS = 60_000
/** Of a thrown text. */
const LONGEST = 200

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

/**
 * The message of a thrown value as a log can hold it: on one line, without control characters, of at most 200
 * characters. It may hold what a client sent. Never throws.
 */
export function thrownText(thrown: unknown): string {
  const text = reasonOf(thrown).slice(0, LONGEST + 1)
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?')
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 3)}...` : line
}
