import { ConfigError } from '../base/errors.js'
import type { Decision } from '../limiter/decision.js'
import { seconds } from './headers.js'

/** What clients are told of when to come back. */
export interface RetryOptions {
  /** `Retry-After` is up to so many ms later, at random, so that not all clients come back at once. Default: 0. */
  readonly retryJitterMs?: number
  /**
   * `Retry-After` is never longer, in ms; whole seconds of it are sent. Default: 2147483647, the longest timer of
   * JavaScript: of a longer wait many HTTP clients make none at all, and retry at once.
   */
  readonly maxRetryAfterMs?: number
}

/** When a denied client is to come back. */
export interface Retry {
  /** With jitter, and however long: what people are told. */
  readonly waitMs: number
  /** What programs are told: `Retry-After`, in whole seconds from 1. */
  readonly seconds: number
}

const LONGEST_JITTER_MS = 3_600_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** @throws {ConfigError} when an option is wrong */
export function checkRetryOptions({ retryJitterMs, maxRetryAfterMs }: RetryOptions): void {
  if (retryJitterMs !== undefined && !isWithin(retryJitterMs, 0, LONGEST_JITTER_MS)) {
    throw ConfigError.wrong(
      'retryJitterMs',
      retryJitterMs,
      `a whole number of ms from 0 to ${LONGEST_JITTER_MS}`,
    )
  }
  if (maxRetryAfterMs !== undefined && !isWithin(maxRetryAfterMs, 1000, Number.MAX_SAFE_INTEGER)) {
    throw ConfigError.wrong('maxRetryAfterMs', maxRetryAfterMs, 'a whole number of ms from 1000')
  }
}

function isWithin(given: unknown, least: number, most: number): boolean {
  return Number.isSafeInteger(given) && (given as number) >= least && (given as number) <= most
}

/** Undefined when waiting would not help. */
export function retryOf({ retryAfterMs }: Decision, options: RetryOptions = {}): Retry | undefined {
  if (retryAfterMs === null) return undefined
  const { retryJitterMs = 0, maxRetryAfterMs = LONGEST_TIMER_MS } = options
  const waitMs = retryAfterMs + Math.random() * retryJitterMs
  return { waitMs, seconds: Math.min(Math.max(seconds(waitMs), 1), Math.floor(maxRetryAfterMs / 1000)) }
}
