import type { OffsetAt } from './time-zone.js'
import { DAY, modulo } from './local-time.js'

/** The length of a calendar window: an hour, a day, a week or a month of the wall clock. */
export type CalendarUnit = 'h' | 'd' | 'week' | 'month'

/**
 * Where windows start.
 *
 * - A number: the day of the month 1..31 for `month` (a month without that day uses its last one), or the ISO
 *   weekday 1..7 (Monday = 1) for `week`; both at midnight. `h` and `d` take no number.
 * - A local date-time in the limit's time zone, `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM` or `YYYY-MM-DDTHH:MM:SS`.
 * - A Date: an instant, read in the limit's time zone, to the millisecond.
 *
 * From a date-time or a Date, `month` uses the day of the month and the time of day, `week` the weekday and the
 * time of day, `d` the time of day, `h` the minutes and smaller units. The date may lie in the past or in the
 * future: windows repeat in both directions from it.
 */
export type CalendarAnchor = number | string | Date

const LOCAL_DATE_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2})?)?$/

/** Whether `anchor` is valid for windows of this unit; `undefined` is not. Never throws. */
export function isAnchor(unit: CalendarUnit, anchor: unknown): anchor is CalendarAnchor {
  if (typeof anchor === 'number') return isDayNumber(unit, anchor)
  if (typeof anchor === 'string') return Number.isFinite(localTime(anchor))
  // An invalid Date has the year NaN, which fails both comparisons.
  return anchor instanceof Date && anchor.getUTCFullYear() >= 0 && anchor.getUTCFullYear() <= 9999
}

function isDayNumber(unit: CalendarUnit, day: number): boolean {
  const days = unit === 'month' ? 31 : unit === 'week' ? 7 : 0
  return Number.isInteger(day) && day >= 1 && day <= days
}

/** The date-time in local ms; NaN when the text is malformed or there is no such date, such as February 30. */
function localTime(text: string): number {
  if (!LOCAL_DATE_TIME.test(text)) return NaN
  const ms = Date.parse(text.length === 10 ? text : `${text}Z`)
  // Date.parse reads February 30 as March 2, and 24:00 as the next day's midnight.
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text) ? ms : NaN
}

/** Where in its unit a window starts: on which day and at what time. Each unit uses only the fields that it needs. */
export interface Phase {
  readonly dayOfMonth: number
  readonly weekday: number
  readonly timeOfDayMs: number
}

export function phaseOf(anchor: CalendarAnchor | undefined, offsetAt: OffsetAt): Phase {
  if (anchor === undefined) return { dayOfMonth: 1, weekday: 1, timeOfDayMs: 0 }
  if (typeof anchor === 'number') return { dayOfMonth: anchor, weekday: anchor, timeOfDayMs: 0 }
  const localMs =
    typeof anchor === 'string' ? localTime(anchor) : anchor.getTime() + offsetAt(anchor.getTime())
  const local = new Date(localMs)
  return {
    dayOfMonth: local.getUTCDate(),
    weekday: local.getUTCDay() || 7,
    timeOfDayMs: modulo(localMs, DAY),
  }
}
