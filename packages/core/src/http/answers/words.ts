import { UNIT_MS } from '../../base/duration.js'
import { zoneOf } from '../../calendar/time-zone.js'

const { s: SECOND, min: MINUTE, h: HOUR, d: DAY, week: WEEK, month: MONTH } = UNIT_MS

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', SECOND],
]

/** Longer waits are told as a date and time. */
export const LONGEST_WAIT_IN_WORDS_MS = 6 * HOUR

const numbers = new Intl.NumberFormat('en')

/** A number such as `5,000`. */
export function inWords(count: number): string {
  // Most numbers are small, and Intl takes longer than the rest of a denial.
  return count < 1000 ? String(count) : numbers.format(count)
}

/** `1 request`, `5,000 requests`. */
export function plural(count: number, noun: string): string {
  return `${inWords(count)} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * The words that follow a quota: `a minute`, `in 15 minutes`, `a month`.
 *
 * @param timeZone of a calendar window; with it, 30 days mean a calendar month
 */
export function perWindow(windowMs: number, timeZone: string | undefined): string {
  if (windowMs === WEEK) return 'a week'
  if (windowMs === MONTH && timeZone !== undefined) return 'a month'
  const [unit, ms] = UNITS.find(([, length]) => windowMs % length === 0) ?? ['millisecond', 1]
  const count = windowMs / ms
  if (count > 1) return `in ${plural(count, unit)}`
  return unit === 'hour' ? 'an hour' : `a ${unit}`
}

/** A length of time, rounded up and never 0: `48 seconds`, `15 minutes`, `2 hours and 5 minutes`. */
export function waitInWords(ms: number): string {
  const seconds = Math.max(Math.ceil(ms / SECOND), 1)
  if (seconds < 120 && seconds !== 60) return plural(seconds, 'second')
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 120 && minutes !== 60) return plural(minutes, 'minute')
  const hours = plural(Math.floor(minutes / 60), 'hour')
  return minutes % 60 === 0 ? hours : `${hours} and ${plural(minutes % 60, 'minute')}`
}

/** One formatter per time zone. Cached, since creating one takes milliseconds. */
const formats = new Map<string, Intl.DateTimeFormat>()
/** Limits of subjects can name any zone, in any case. */
const MOST_FORMATS = 1000

/**
 * A date and time, rounded up to the minute: `1 December 2026, 00:00 (Europe/Berlin)`. Where clocks are set back and
 * show that time twice, it says which one: `1 November 2026, 01:30 GMT-4 (America/New_York)`.
 *
 * @param atMs ms since 1970
 */
export function dateInWords(atMs: number, timeZone: string): string {
  const minuteMs = Math.ceil(atMs / MINUTE) * MINUTE
  const parts = formatFor(timeZone).formatToParts(minuteMs)
  // Joined here, since the separators of Intl differ between versions of Node.
  const of = (type: string): string => parts.find((part) => part.type === type)?.value ?? ''
  const time = `${of('hour')}:${of('minute')}${whichOfTwo(minuteMs, timeZone)}`
  return `${of('day')} ${of('month')} ${of('year')}, ${time} (${timeZone})`
}

/** The offset from UTC, where clocks show the same time at two instants; else empty. */
function whichOfTwo(atMs: number, timeZone: string): string {
  const { offsetAt } = zoneOf(timeZone)
  const offset = offsetAt(atMs)
  const isTwice = [offsetAt(atMs - DAY), offsetAt(atMs + DAY)].some(
    (other) => other !== offset && offsetAt(atMs + offset - other) === other,
  )
  return isTwice ? ` ${offsetInWords(offset)}` : ''
}

/** `GMT-4`, `GMT+10:30`. */
function offsetInWords(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / MINUTE
  const rest = minutes % 60 === 0 ? '' : `:${String(minutes % 60).padStart(2, '0')}`
  return `GMT${offsetMs < 0 ? '-' : '+'}${Math.floor(minutes / 60)}${rest}`
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  if (formats.size >= MOST_FORMATS) formats.clear()
  formats.set(timeZone, format)
  return format
}
