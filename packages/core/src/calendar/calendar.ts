import { UNIT_MS } from '../base/duration.js'
import { isWhole } from '../base/options.js'
import { zoneOf, type Zone, type OffsetAt } from './time-zone.js'

/** A local time is in ms, too: `Date.UTC` of what the wall clock shows. */
const { h: HOUR, d: DAY, week: WEEK } = UNIT_MS

/** The windows of one unit in one time zone, without gaps: each instant is in exactly one window. */
export interface Calendar {
  readonly unit: CalendarUnit
  /** Equal for equal windows on every version of Node, however zone and anchor are written. */
  readonly id: string
  /** The longest window in ms, daylight saving included: 25 h for `d` where clocks move by an hour. */
  readonly maxWindowMs: number
  /**
   * The starts of the windows around an instant, in ms since 1970. They are whole ms and strictly increasing.
   *
   * `startsAround(t)` of a UTC day gives `[yesterday 00:00, today 00:00, tomorrow 00:00, the day after 00:00]`.
   *
   * @throws RangeError when `nowMs` is not a time a Date can hold.
   */
  startsAround(nowMs: number): readonly [number, number, number, number]
}

/**
 * Makes windows that follow a time zone's calendar. Without an anchor they start at minute 0, midnight, Monday, day 1 or 1 January.
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
function idOf(unit: CalendarUnit, phase: Phase, zone: Zone): string {
  const { month, dayOfMonth, weekday, timeOfDayMs } = phase
  if (unit === 'h') return `h ${timeOfDayMs % HOUR} ${zone.minutesId}`
  const day = { d: 0, week: weekday, month: dayOfMonth, year: `${month + 1}-${dayOfMonth}` }[unit]
  return `${unit} ${day} ${timeOfDayMs} ${zone.clockId}`
}

function longestWindow(unit: CalendarUnit, { setBackMs, movesByHours }: Zone): number {
  if (unit === 'h') return movesByHours ? HOUR : 2 * HOUR
  return { d: DAY, week: WEEK, month: 31 * DAY, year: 366 * DAY }[unit] + setBackMs
}

/** The length of a calendar window: an hour, a day, a week, a month or a year of the wall clock. */
export type CalendarUnit = 'h' | 'd' | 'week' | 'month' | 'year'

/**
 * Where windows start.
 *
 * - A number: the day of the month 1..31 for `month` (a month without that day uses its last one), or the ISO
 *   weekday 1..7 (Monday = 1) for `week`; both at midnight. `h`, `d` and `year` take no number.
 * - A local date-time in the limit's time zone, `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM` or `YYYY-MM-DDTHH:MM:SS`.
 * - A Date: an instant, read in the limit's time zone, to the millisecond.
 *
 * From a date-time or a Date, `year` uses the month, the day and the time of day, `month` the day of the month and the time
 * of day, `week` the weekday and the time of day, `d` the time of day, `h` the minutes and smaller units. The date may lie in the past or in the
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
  return isWhole(day, 1, days)
}

/** The date-time in local ms; NaN when the text is malformed or there is no such date, such as February 30. */
function localTime(text: string): number {
  if (!LOCAL_DATE_TIME.test(text)) return NaN
  const ms = Date.parse(text.length === 10 ? text : `${text}Z`)
  // Date.parse reads February 30 as March 2, and 24:00 as the next day's midnight.
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text) ? ms : NaN
}

/** Where in its unit a window starts: on which day and at what time. Each unit uses only the fields that it needs. */
interface Phase {
  /** From 0. */
  readonly month: number
  readonly dayOfMonth: number
  readonly weekday: number
  readonly timeOfDayMs: number
}

function phaseOf(anchor: CalendarAnchor | undefined, offsetAt: OffsetAt): Phase {
  if (anchor === undefined) return { month: 0, dayOfMonth: 1, weekday: 1, timeOfDayMs: 0 }
  if (typeof anchor === 'number') return { month: 0, dayOfMonth: anchor, weekday: anchor, timeOfDayMs: 0 }
  const localMs =
    typeof anchor === 'string' ? localTime(anchor) : anchor.getTime() + offsetAt(anchor.getTime())
  const local = new Date(localMs)
  return {
    month: local.getUTCMonth(),
    dayOfMonth: local.getUTCDate(),
    weekday: local.getUTCDay() || 7,
    timeOfDayMs: modulo(localMs, DAY),
  }
}

/** Four consecutive window starts in ms since 1970: previous, current (<= now), next (> now), and the one after it. */
type Starts = readonly [previous: number, current: number, next: number, following: number]

/** Numbers the window starts of a unit. Local times are in ms, as if the wall clock showed UTC. */
interface LocalStarts {
  numberAt(localMs: number): number
  localOf(number: number): number
}

/** 1970-01-05, the first Monday of the epoch: weeks are counted from there. */
const FIRST_MONDAY = 4 * DAY

function localStartsOf(unit: Exclude<CalendarUnit, 'h'>, phase: Phase): LocalStarts {
  if (unit === 'd') return evenStarts(DAY, phase.timeOfDayMs)
  if (unit === 'week') return evenStarts(WEEK, FIRST_MONDAY + (phase.weekday - 1) * DAY + phase.timeOfDayMs)
  return unit === 'month' ? monthStarts(phase) : yearStarts(phase)
}

function evenStarts(lengthMs: number, firstMs: number): LocalStarts {
  return {
    numberAt: (localMs) => Math.floor((localMs - firstMs) / lengthMs),
    localOf: (number) => firstMs + number * lengthMs,
  }
}

/** Computes each month from the anchor, not from the month before: otherwise a 31st would become a 28th for good. */
function monthStarts({ dayOfMonth, timeOfDayMs }: Phase): LocalStarts {
  return {
    numberAt(localMs) {
      const local = new Date(localMs)
      return local.getUTCFullYear() * 12 + local.getUTCMonth()
    },
    localOf: (number) => dayIn(Math.floor(number / 12), modulo(number, 12), dayOfMonth) + timeOfDayMs,
  }
}

function yearStarts({ month, dayOfMonth, timeOfDayMs }: Phase): LocalStarts {
  return {
    numberAt: (localMs) => new Date(localMs).getUTCFullYear(),
    localOf: (year) => dayIn(year, month, dayOfMonth) + timeOfDayMs,
  }
}

/** A month without that day has its last one instead. */
function dayIn(year: number, month: number, day: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(day, lastDay))
}

/**
 * Finds starts of days, weeks, months or years. Two numbers can have the same start: Samoa had no 2011-12-30, so the starts
 * of the 30th and the 31st are one instant, and count as one window.
 */
function dateFinder(starts: LocalStarts, offsetAt: OffsetAt): (nowMs: number) => Starts {
  const startOf = (number: number): number => instantOf(starts.localOf(number), offsetAt)
  const beyond = (start: number, number: number, step: 1 | -1): number => {
    let found = start
    for (let n = number + step; found === start; n += step) found = startOf(n)
    return found
  }
  return (nowMs) => {
    // A first guess: when clocks are set back, local times repeat, and the start found can lie after now.
    let number = starts.numberAt(nowMs + offsetAt(nowMs))
    let current = startOf(number)
    while (current > nowMs) current = startOf(--number)
    let next = startOf(number + 1)
    while (next <= nowMs) {
      current = next
      next = startOf(++number + 1)
    }
    return [beyond(current, number, -1), current, next, beyond(next, number + 1, 1)]
  }
}

/** The instant of a local time: the earlier one if it occurs twice; by the offset before if it is skipped. */
function instantOf(localMs: number, offsetAt: OffsetAt): number {
  // Offsets are less than a day, so these two instants enclose every change that matters.
  const before = offsetAt(localMs - DAY)
  const after = offsetAt(localMs + DAY)
  const instant = localMs - before
  if (before === after || offsetAt(instant) === before) return instant
  return offsetAt(localMs - after) === after ? localMs - after : instant
}

/**
 * Finds starts of hours: each instant at which the clock shows the anchor's minutes. Where clocks move by
 * half an hour, one window is shorter or longer than an hour, but always shorter than two.
 */
function hourFinder(phaseMs: number, offsetAt: OffsetAt): (nowMs: number) => Starts {
  const intoHour = (instantMs: number): number => modulo(instantMs + offsetAt(instantMs) - phaseMs, HOUR)
  const currentAt = (nowMs: number): number => {
    const start = nowMs - intoHour(nowMs)
    const astray = intoHour(start)
    if (astray === 0) return start
    // The clock was changed between `start` and now: the window began earlier, or an hour after that.
    const earlier = start - astray
    const later = earlier + HOUR
    return later <= nowMs && intoHour(later) === 0 ? later : earlier
  }
  const nextAfter = (start: number): number => {
    const next = currentAt(start + HOUR)
    return next > start ? next : currentAt(start + 2 * HOUR)
  }
  return (nowMs) => {
    const current = currentAt(nowMs)
    const next = nextAfter(current)
    return [currentAt(current - 1), current, next, nextAfter(next)]
  }
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor
}
