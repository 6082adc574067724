import type { LimitOptions } from '../../src/index.js'
import type { ConcurrentLimitOptions } from '../../src/plans/limit/limit.js'

/**
 * Kinds of limits. `coarse` is a sliding log whose entries share slots; `hour` and `month` are calendar windows; `flight`
 * counts requests in flight.
 */
export const KINDS = ['log', 'coarse', 'window', 'fixed', 'hour', 'month', 'bucket', 'flight'] as const
export type Kind = (typeof KINDS)[number]

/** One limit of a plan, in the form that schedules and the oracle use. */
export interface LimitSpec {
  readonly kind: Kind
  readonly quota: number
  readonly windowMs: number
  /** Only for `bucket`: units that may be taken at once. */
  readonly burst: number
  /** Only for `fixed`, `hour` and `month`. The oracle does not know it. */
  readonly overage?: boolean
}

export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The shortest month. A longer time could touch three months. */
const SHORTEST_MONTH_MS = 28 * DAY_MS
const SLOTS = 10

/** The limit as a user writes it. */
export function inputOf(
  { kind, quota, windowMs, burst, overage }: LimitSpec,
  name: string,
): LimitOptions | ConcurrentLimitOptions {
  const over = overage ? { overage } : {}
  switch (kind) {
    case 'log':
      return { name, quota, window: windowMs }
    case 'coarse':
      return { name, quota, window: windowMs, precision: slotMsOf(windowMs) }
    case 'window':
      return { name, quota, window: windowMs, algorithm: 'sliding-window' }
    case 'fixed':
      return { name, quota, window: windowMs, algorithm: 'fixed-window', ...over }
    case 'hour':
      return { name, quota, window: 'h', timeZone: 'Asia/Kolkata', ...over }
    case 'month':
      return { name, quota, window: 'month', ...over }
    case 'bucket':
      return { name, quota, window: windowMs, algorithm: 'token-bucket', burst }
    case 'flight':
      return { name, concurrent: quota }
  }
}

export function slotMsOf(windowMs: number): number {
  return Math.max(Math.floor(windowMs / SLOTS), 1)
}

/** The most units that the limit can admit at once. */
export function capacityOf({ kind, quota, burst }: LimitSpec): number {
  return kind === 'bucket' ? burst : quota
}

/** Law 1: the most units in any true sliding window of `lawWindowMs`. */
export function worstCaseOf({ kind, quota, burst }: LimitSpec): number {
  switch (kind) {
    case 'log':
    case 'coarse':
    case 'flight':
      return quota
    case 'window':
      // Just under twice the quota.
      return 2 * quota - 1
    case 'fixed':
    case 'hour':
    case 'month':
      return 2 * quota
    case 'bucket':
      return quota + burst
  }
}

export function lawWindowMs({ kind, windowMs }: LimitSpec): number {
  return kind === 'month' ? SHORTEST_MONTH_MS : windowMs
}

/** Limits with the same window and algorithm share a counter, whatever their quota (law 7). */
export function counterName({ kind, windowMs }: LimitSpec): string {
  return `${kind} ${windowMs}`
}

/** The start of the calendar window that contains `now`; both in µs. */
export function calendarStart(kind: 'hour' | 'month', now: number): number {
  if (kind === 'month') {
    const date = new Date(now / 1000)
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) * 1000
  }
  // Clocks in Kolkata are 5 h 30 min ahead, all year: its hours begin at half past.
  const hour = HOUR_MS * 1000
  const half = hour / 2
  return Math.floor((now - half) / hour) * hour + half
}
