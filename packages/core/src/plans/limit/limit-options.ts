import type { ConcurrentOptions } from '../../algorithms/concurrent/concurrent.js'
import type { Algorithm, OwnOptions } from '../../algorithms/registry.js'
import { notationOf } from '../../base/duration.js'
import type { LeaseOption } from '../options/lease-option.js'
import type { CompiledLimit } from './limit-set.js'

/**
 * How a limit counts.
 * - `sliding-log` (the default): exact; no window of the length holds more than the quota, wherever it starts.
 * - `sliding-window`: two counters, the previous one weighted by its overlap; just under 2 x quota at worst.
 * - `fixed-window`: one counter, from the first request or by the calendar; 2 x quota at worst, around a boundary.
 * - `token-bucket`: GCRA; an even rate with a burst; quota + burst at worst.
 */
export type { Algorithm }

/** One quota policy in its long form. */
export interface LimitOptions extends OwnOptions {
  /** Units allowed in a window: a whole number from 1 to 10^12. */
  readonly quota: number
  /** Length of the window: `'min'`, `'15 min'`, `'2500ms'`, or a number of ms. */
  readonly window: string | number
  /**
   * Default: `token-bucket` with `burst`; `fixed-window` by month or with `timeZone` or `anchor`; else `sliding-log`, or
   * what a store has in its place.
   */
  readonly algorithm?: Algorithm | undefined
  /** The name that clients see in headers and errors. Default: the window, such as `minute`. */
  readonly name?: string | undefined
  /**
   * Whether processes take units of a busy subject in advance, as in a plan. All limits that apply together are leased
   * together, so it holds for the whole plan.
   */
  readonly lease?: LeaseOption | undefined
}

/** A limit of the requests of a subject that are in flight at a time, in its long form. */
export interface ConcurrentLimitOptions extends ConcurrentOptions {
  /** Requests at a time: a whole number from 1 to 10^6. */
  readonly concurrent: number
  /** The name that clients see in headers and errors. Default: `concurrent`. */
  readonly name?: string | undefined
}

/**
 * `'100/min'`, `'10000 per 15 min'`, `'50/s burst 100'`, `'5000000/month'`, `'20 concurrent'`, or the long form of one of
 * these.
 */
export type LimitInput = string | LimitOptions | ConcurrentLimitOptions

/** A valid, compiled limit. */
export interface Limit {
  readonly name: string
  readonly quota: number
  /** In ms; a calendar month counts as 30 days. 0 of a limit of requests in flight. */
  readonly windowMs: number
  /** Units that can be taken at once when nothing is used: the quota, or the burst of a token bucket. */
  readonly capacity: number
  /** The form that stores get. */
  readonly compiled: CompiledLimit
}

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
