import { isAnchor, type CalendarAnchor, type CalendarUnit } from '../base/calendar.js'
import { durationName, readDuration, UNITS, type Duration } from '../base/duration.js'
import { ConfigError } from '../base/errors.js'
import { isOptions, needOptions } from '../base/option-checks.js'
import { isTimeZone } from '../base/time-zone.js'

/**
 * How a limit counts.
 * - `sliding-log` (the default): exact; no window of the length holds more than the quota, wherever it starts.
 * - `sliding-window`: two counters, the previous weighted by its overlap; just under 2 x quota at worst.
 * - `fixed-window`: one counter, from the first request or on the calendar; 2 x quota at worst, around a seam.
 * - `token-bucket`: GCRA; an even rate with a burst; quota + burst at worst.
 */
export type Algorithm = (typeof ALGORITHMS)[number]

const ALGORITHMS = ['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket'] as const

/** One quota policy in its long form. */
export interface LimitOptions {
  /** Units allowed in a window: a whole number from 1 to 10^12. */
  readonly quota: number
  /** Length of the window: `'min'`, `'15 min'`, `'2500ms'`, or a number of ms. */
  readonly window: string | number
  /** `token-bucket` with `burst`; `fixed-window` by month or with `timeZone` or `anchor`; else `sliding-log`. */
  readonly algorithm?: Algorithm
  /** token-bucket: units that may come at once. Default: the quota. */
  readonly burst?: number
  /**
   * sliding-log: requests closer together than this may share an entry, and come back up to this late.
   * Default: exact while the quota is at most 128, else window / 128. `'100ms'`, or a number of ms.
   */
  readonly precision?: string | number
  /** What clients see in headers and errors. Default: the window, such as `minute`. */
  readonly name?: string
  /** fixed-window by h, d, week or month: on the calendar of this zone, such as `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string
  /**
   * fixed-window by h, d, week or month: where windows start. A day of the month (1 to 31; a shorter month ends
   * on its last day), a weekday (1 = Monday to 7), or a date and time whose hour, weekday or day is meant.
   */
  readonly anchor?: CalendarAnchor
}

/** `'100/min'`, `'10000 per 15 min'`, `'50/s burst 100'`, `'5000000/month'`, or the long form. */
export type LimitInput = string | LimitOptions

/** A limit that is known to be right, with every default filled in. */
export interface Limit {
  readonly name: string
  readonly quota: number
  /** In ms; a calendar month counts as 30 days. */
  readonly windowMs: number
  readonly algorithm: Algorithm
  /** token-bucket only */
  readonly burst?: number
  /** sliding-log only, in ms; undefined: the default */
  readonly precisionMs?: number
  /** fixed-window on the calendar only */
  readonly calendar?: {
    readonly unit: CalendarUnit
    readonly timeZone: string
    readonly anchor?: CalendarAnchor
  }
}

const MOST_UNITS = 1e12
const LONGEST_WINDOW_MS = 3000 * 86_400_000
/** Up to here any ms; a longer window is whole seconds. The mark of a limit in Redis has 26 bits for it. */
const LONGEST_IN_MS = 2 ** 26
const MOST_LOG_ENTRIES = 16_384

const NOTATION = /^\s*(\d+(?:_\d+)*)\s*(?:\/|per\s)\s*(\d*\s*[a-z]+)\s*(?:\sburst\s+(\d+(?:_\d+)*))?\s*$/i
const OPTIONS = ['quota', 'window', 'algorithm', 'burst', 'precision', 'name', 'timeZone', 'anchor']

/**
 * Reads a limit in either form.
 *
 * @param path where the user wrote it, for the error: `plans.free[0]`
 * @throws {ConfigError} when it is not a limit that can hold
 */
export function parseLimit(input: unknown, path: string): Limit {
  if (typeof input === 'string') return fromOptions(readNotation(input, path), path)
  if (isOptions(input)) return fromOptions(input as LimitOptions, path)
  throw notALimit(path, input)
}

function notALimit(path: string, given: unknown): ConfigError {
  return new ConfigError(
    path,
    given,
    `a limit such as '100/min' or '10/s burst 20' (units of time: ${UNITS})`,
  )
}

function readNotation(text: string, path: string): LimitOptions {
  const [, quota, window, burst] = NOTATION.exec(text) ?? []
  if (quota === undefined || window === undefined || !readDuration(window)) throw notALimit(path, text)
  const options = { quota: toNumber(quota), window }
  if (!isUnits(options.quota)) throw new ConfigError(path, text, `a quota from 1 to 10^12, such as '100/min'`)
  return burst === undefined ? options : { ...options, burst: toNumber(burst) }
}

function toNumber(digits: string): number {
  return Number(digits.replaceAll('_', ''))
}

function isUnits(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MOST_UNITS
}

function fromOptions(options: LimitOptions, path: string): Limit {
  needOptions(options, OPTIONS, path)
  const { quota, name } = options
  if (!isUnits(quota))
    throw new ConfigError(`${path}.quota`, quota, 'a whole number of units from 1 to 10^12')
  const window = readWindow(options.window, `${path}.window`)
  if (name !== undefined && !isName(name)) {
    throw new ConfigError(`${path}.name`, name, 'a name of 1 to 64 characters')
  }
  const algorithm = readAlgorithm(options, window, path)
  refuseMisplaced(options, algorithm, path)
  return {
    name: name ?? durationName(window),
    quota,
    windowMs: window.ms,
    algorithm,
    ...(algorithm === 'token-bucket' && { burst: readBurst(options, window.ms, path) }),
    ...(options.precision !== undefined && { precisionMs: readPrecision(options, window.ms, path) }),
    ...(onCalendar(options, window, algorithm) && { calendar: readCalendar(options, window, path) }),
  }
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length >= 1 && name.length <= 64
}

function readWindow(given: unknown, path: string): Duration {
  const window = readDuration(given)
  if (window && window.ms <= LONGEST_WINDOW_MS && isEncodable(window.ms)) return window
  const expected = `a time such as 'min', '15 min' or 2500 (ms), up to 3000 d (units of time: ${UNITS})`
  const longer = window && !isEncodable(window.ms) ? ', in whole seconds when longer than 18 h' : ''
  throw new ConfigError(path, given, expected + longer)
}

function isEncodable(ms: number): boolean {
  return ms < LONGEST_IN_MS || (ms % 1000 === 0 && ms / 1000 < LONGEST_IN_MS) || ms % 60_000 === 0
}

function readAlgorithm(options: LimitOptions, window: Duration, path: string): Algorithm {
  const { algorithm } = options
  if (algorithm === undefined) {
    if (options.burst !== undefined) return 'token-bucket'
    return onCalendar(options, window, 'fixed-window') ? 'fixed-window' : 'sliding-log'
  }
  if (ALGORITHMS.includes(algorithm)) return algorithm
  throw new ConfigError(`${path}.algorithm`, algorithm, `one of ${ALGORITHMS.join(', ')}`)
}

/** Options that the algorithm would have to ignore. */
function refuseMisplaced(options: LimitOptions, algorithm: Algorithm, path: string): void {
  const owners = [
    ['burst', 'token-bucket'],
    ['precision', 'sliding-log'],
    ['timeZone', 'fixed-window'],
    ['anchor', 'fixed-window'],
  ] as const
  for (const [option, owner] of owners) {
    if (options[option] === undefined || algorithm === owner) continue
    throw new ConfigError(
      `${path}.${option}`,
      options[option],
      `none, or algorithm: '${owner}' (this limit is a ${algorithm})`,
    )
  }
}

function readBurst({ burst, quota }: LimitOptions, windowMs: number, path: string): number {
  if (burst === undefined) return quota
  if (isUnits(burst) && (burst / quota) * windowMs <= LONGEST_WINDOW_MS) return burst
  throw new ConfigError(
    `${path}.burst`,
    burst,
    'a whole number of units from 1 to 10^12 that come back within 3000 d',
  )
}

function readPrecision({ precision, quota }: LimitOptions, windowMs: number, path: string): number {
  const ms = readDuration(precision)?.ms
  const entries = Math.min(quota, windowMs / (ms ?? 1))
  if (ms !== undefined && ms <= windowMs && entries <= MOST_LOG_ENTRIES) return ms
  const finest = Math.ceil(windowMs / MOST_LOG_ENTRIES)
  throw new ConfigError(`${path}.precision`, precision, `a time from ${finest} ms up to the window`)
}

function onCalendar({ timeZone, anchor }: LimitOptions, { unit }: Duration, algorithm: Algorithm): boolean {
  return algorithm === 'fixed-window' && (unit === 'month' || timeZone !== undefined || anchor !== undefined)
}

function readCalendar(
  options: LimitOptions,
  { count, unit }: Duration,
  path: string,
): NonNullable<Limit['calendar']> {
  const { timeZone = 'UTC', anchor } = options
  if (count !== 1 || !isCalendarUnit(unit)) {
    throw new ConfigError(
      `${path}.window`,
      options.window,
      "'h', 'd', 'week' or 'month' for a window on the calendar",
    )
  }
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone)) {
    throw new ConfigError(`${path}.timeZone`, timeZone, "a time zone such as 'Europe/Berlin'")
  }
  if (anchor === undefined) return { unit, timeZone }
  if (isAnchor(unit, anchor)) return { unit, timeZone, anchor }
  throw new ConfigError(`${path}.anchor`, anchor, ANCHORS[unit])
}

function isCalendarUnit(unit: string): unit is CalendarUnit {
  return unit in ANCHORS
}

const ANCHORS: Readonly<Record<CalendarUnit, string>> = {
  h: "a date and time such as '2026-01-31T09:30', whose minutes are meant",
  d: "a date and time such as '2026-01-31T09:30', whose time of day is meant",
  week: "a weekday from 1 (Monday) to 7, or a date such as '2026-01-31'",
  month: "a day of the month from 1 to 31, or a date such as '2026-01-31'",
}
