import { isWhole } from '../../base/options.js'
import { ConfigError } from '../../base/errors.js'
import type { Decision } from '../../limiter/decision/decision.js'
import { toSeconds } from '../headers.js'

/** How `Retry-After` is made. */
export interface RetryOptions {
  /**
   * Adds a random time of up to this many ms to `Retry-After`, so that not all clients return at once. A
   * wait that `maxRetryAfterMs` shortens gets a random time less than that instead. Default: 0.
   */
  readonly retryJitterMs?: number | undefined
  /**
   * The longest `Retry-After`, in ms, rounded down to whole seconds. Default: 2147483647, the longest timer of
   * JavaScript. If told to wait longer, many HTTP clients do not wait at all and retry at once.
   */
  readonly maxRetryAfterMs?: number | undefined
}

/** When a denied client may retry. */
export interface Retry {
  /** In ms, with jitter, not shortened by `maxRetryAfterMs`: for the text of the denial. */
  readonly waitMs: number
  /** The value of `Retry-After`: whole seconds, at least 1. */
  readonly seconds: number
}

const LONGEST_JITTER_MS = 3_600_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** @throws {ConfigError} when an option is wrong */
export function checkRetryOptions({ retryJitterMs, maxRetryAfterMs }: RetryOptions): void {
  if (retryJitterMs !== undefined && !isWhole(retryJitterMs, 0, LONGEST_JITTER_MS)) {
    throw ConfigError.wrong(
      'retryJitterMs',
      retryJitterMs,
      `a whole number of ms from 0 to ${LONGEST_JITTER_MS}`,
    )
  }
  if (maxRetryAfterMs !== undefined && !isWhole(maxRetryAfterMs, 1000)) {
    throw ConfigError.wrong('maxRetryAfterMs', maxRetryAfterMs, 'a whole number of ms from 1000')
  }
}

/** Undefined when waiting would not help. */
export function retryOf({ retryAfterMs }: Decision, options: RetryOptions = {}): Retry | undefined {
  if (retryAfterMs === null) return undefined
  const { retryJitterMs = 0, maxRetryAfterMs = LONGEST_TIMER_MS } = options
  const share = Math.random()
  const longestMs = Math.floor(maxRetryAfterMs / 1000) * 1000
  if (retryAfterMs <= longestMs) {
    const waitMs = retryAfterMs + share * Math.min(retryJitterMs, longestMs - retryAfterMs)
    return { waitMs, seconds: Math.max(toSeconds(waitMs), 1) }
  }
  // Spread below the longest, since those that are cut to it would all come back at once. It is too early in any case.
  const earlierMs = share * Math.min(retryJitterMs, longestMs - 1000)
  return { waitMs: retryAfterMs + share * retryJitterMs, seconds: toSeconds(longestMs - earlierMs) }
}
