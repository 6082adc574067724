import { notationOf } from '../../base/duration.js'
import type { Limit } from './limit-options.js'

const WEEK_MS = 604_800_000
const MONTH_MS = 2_592_000_000

/** The window of a limit in time as one types it: `min`, `15min`. */
export function windowTextOf({ windowMs, compiled }: Limit): string {
  if (windowMs === MONTH_MS && compiled.timeZone !== undefined) return 'month'
  return windowMs === WEEK_MS ? 'week' : notationOf(windowMs)
}

/** A length of time as one types it by itself: `1s`. */
export function lengthTextOf(ms: number): string {
  const text = notationOf(ms)
  return /^\d/.test(text) ? text : `1${text}`
}

/** Units and window of a limit, as one types them: `5/s` of a token bucket, too. */
export function rateTextOf(limit: Limit): string {
  return `${limit.quota}/${windowTextOf(limit)}`
}

/** The burst of a token bucket; undefined for all others. */
export function burstOf({ capacity, compiled }: Limit): number | undefined {
  return compiled.algorithm === 'token-bucket' ? capacity : undefined
}

/** The limit as one types it, without its name: `5/s burst 10`. */
export function limitTextOf(limit: Limit): string {
  const burst = burstOf(limit)
  return burst === undefined ? rateTextOf(limit) : `${rateTextOf(limit)} burst ${burst}`
}
