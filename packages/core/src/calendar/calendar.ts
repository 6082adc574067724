import { zoneOf, type Zone } from './time-zone.js'
import { isAnchor, phaseOf, type CalendarAnchor, type CalendarUnit, type Phase } from './calendar-anchor.js'
import { dateFinder, hourFinder, localStartsOf, type Starts } from './calendar-starts.js'
import { DAY, HOUR, WEEK } from './local-time.js'

/** The windows of one unit in one time zone, without gaps: each instant is in exactly one window. */
export interface Calendar {
  readonly unit: CalendarUnit
  /** Equal for equal windows, on every version of Node, even if zone or anchor are written differently. */
  readonly id: string
  /** The longest window in ms, daylight saving included: 25 h for `d` where clocks move by an hour. */
  readonly maxWindowMs: number
  /**
   * The windows around an instant in epoch ms. Starts are whole ms and strictly increasing.
   *
   * `startsAround(t)` of a UTC day gives `[yesterday 00:00, today 00:00, tomorrow 00:00, the day after 00:00]`.
   *
   * @throws RangeError when `nowMs` is not a time a Date can hold.
   */
  startsAround(nowMs: number): readonly [number, number, number, number]
}

/**
 * Windows that start on the calendar of a time zone. Without an anchor: at minute 0, midnight, Monday, day 1.
 *
 * When daylight saving skips a start, the window starts later by the length of the skip. When a start occurs twice,
 * the first one is used. Hours follow the clock face, so an hour that the clock shows twice is two windows.
 *
 * @throws RangeError when the runtime does not know `timeZone`, or `isAnchor(unit, anchor)` is false.
 */
export function createCalendar(unit: CalendarUnit, timeZone: string, anchor?: CalendarAnchor): Calendar {
  if (anchor !== undefined && !isAnchor(unit, anchor)) {
    throw new RangeError(`Not an anchor for a window of unit '${unit}': ${String(anchor)}`)
  }
  const zone = zoneOf(timeZone)
  const { offsetAt } = zone
  const phase = phaseOf(anchor, offsetAt)
  const find =
    unit === 'h'
      ? hourFinder(phase.timeOfDayMs % HOUR, offsetAt)
      : dateFinder(localStartsOf(unit, phase), offsetAt)

  let last: Starts | undefined
  return {
    unit,
    id: idOf(unit, phase, zone),
    maxWindowMs: longestWindow(unit, zone),
    startsAround(nowMs) {
      if (last === undefined || !(last[1] <= nowMs && nowMs < last[2])) last = find(Math.floor(nowMs))
      return last
    },
  }
}

/**
 * Makes the id from only those fields that the unit uses, so that equal windows have equal ids: a week ignores the day
 * of the month.
 */
function idOf(unit: CalendarUnit, { dayOfMonth, weekday, timeOfDayMs }: Phase, zone: Zone): string {
  if (unit === 'h') return `h ${timeOfDayMs % HOUR} ${zone.minutesId}`
  const day = { d: 0, week: weekday, month: dayOfMonth }[unit]
  return `${unit} ${day} ${timeOfDayMs} ${zone.clockId}`
}

function longestWindow(unit: CalendarUnit, { setBackMs, movesByHours }: Zone): number {
  if (unit === 'h') return movesByHours ? HOUR : 2 * HOUR
  return { d: DAY, week: WEEK, month: 31 * DAY }[unit] + setBackMs
}
