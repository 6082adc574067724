import { createCalendar, isAnchor, type CalendarAnchor, type CalendarUnit } from '../../calendar/calendar.js'
import { ConfigError } from '../../base/errors.js'
import { fnv1a } from '../../base/hash.js'
import { isTimeZone } from '../../calendar/time-zone.js'
import { shareOfUnits } from '../../base/options.js'
import { answerOfWindow, NEVER, OUTSIDE_CALENDAR, type Implementation } from '../implementation.js'
import { forceInto, giveTo, isRecent, takeFrom, windowAt, windowBefore } from './calendar-counter.js'
import { billedId, billedTerms } from '../billing-window/billing-day.js'
import type { LimitTerms, OverageOptions, Terms } from '../limit-terms.js'
import { paramsOf } from './calendar-params.js'

export type { CalendarAnchor }

/** A calendar limit as numbers: its quota, and four consecutive window starts around now, in µs since 1970. */
export interface CalendarWindowParams {
  readonly quota: number
  readonly start0: number
  readonly start1: number
  readonly start2: number
  readonly start3: number
  /** The state id of the same limit for subjects with a billing day; 0 if they have no other windows. */
  readonly otherId: number
}

/** For a fixed-window of one h, d, week, month or year: when its windows begin. */
export interface CalendarWindowOptions extends OverageOptions {
  /** For a fixed-window of one h, d, week, month or year: the time zone whose calendar it follows: `Europe/Berlin`. Default: UTC. */
  readonly timeZone?: string | undefined
  /**
   * For a fixed-window of one h, d, week, month or year: where windows start. A day of the month (1 to 31; a shorter month uses
   * its last day), a weekday (1 = Monday to 7), or a date and time. Only what fits the unit is used: for a week, the
   * weekday and the time of day. Default: minute 0, midnight, Monday, day 1, 1 January. For months and years without an anchor, the
   * subject's `anchor` counts, if it has one.
   */
  readonly anchor?: CalendarAnchor | undefined
}

/** The stored count, and what `load` derives from it. */
export interface CalendarWindowState {
  count: number
  now: number
  countNow: number
  /** The current window, in µs since 1970; `endNow` is 0 when now is outside the four starts. */
  startNow: number
  endNow: number
}

/**
 * A counter for each calendar window: an hour, day, week, month or year of a time zone. The twin of calendar-window.lua.
 * Redis knows no time zones. So the caller computes four window starts, and the script picks the window by its own
 * clock. Worst case: 2 x quota in one window length, half of it on each side of a boundary.
 */
export const calendarWindow: Implementation<
  CalendarWindowState,
  CalendarWindowParams,
  CalendarWindowOptions,
  'fixed-window'
> = {
  name: 'fixed-window',
  options: ['timeZone', 'anchor', 'overage'],

  isMeant: ({ timeZone, anchor }, { unit }) =>
    unit === 'month' || unit === 'year' || timeZone !== undefined || anchor !== undefined,
  calledForBy: 'a month, a year, timeZone or anchor',
  compile: (terms) => compileCalendar(terms),
  capacity: ({ quota }) => quota,
  scale: (params, share) => ({ ...params, quota: shareOfUnits(params.quota, share) }),

  code: 2,
  wire: ['quota', 'start0', 'start1', 'start2', 'start3', 'otherId'],

  create: () => ({ count: 0, now: 0, countNow: 0, startNow: 0, endNow: 0 }),
  packing: {
    size: 1,
    unpack(state, numbers, at) {
      state.count = numbers[at] as number
    },
    pack({ count }, numbers, at) {
      numbers[at] = count
      return true
    },
    quick(numbers, at, { cost, takes, last, now }, { quota, start1, start2 }) {
      if (now < start1 || now >= start2) return undefined
      const count = last >= start1 ? (numbers[at] as number) : 0
      const left = quota - count
      if (cost > left || !takes) return answerOfWindow(cost, left, quota, start2 - now)
      numbers[at] = count + cost
      return { wait: 0, remaining: left - cost, reset: start2 - now }
    },
  },

  load(state, last, now, params) {
    const [start, end] = windowAt(now, params)
    state.now = now
    state.startNow = start
    state.endNow = end
    state.countNow = Math.min(last, now) >= start ? state.count : 0
  },

  remaining: (state, { quota }) => Math.max(quota - state.countNow, 0),

  over: (state, { quota }) => Math.max(state.countNow - quota, 0),

  running: ({ countNow, startNow, endNow }) => ({ units: countNow, startUs: startNow, endUs: endNow }),

  closed({ count, startNow }, last, params) {
    const [startUs, endUs] = windowAt(last, params)
    const isKnown = count > 0 && last < startNow && endUs > 0
    return isKnown ? { units: count, startUs, endUs } : undefined
  },

  isRecent,
  before: windowBefore,

  wait(state, cost, { quota }) {
    if (state.endNow === 0) return OUTSIDE_CALENDAR
    if (cost > quota) return NEVER
    return state.countNow + cost <= quota ? 0 : state.endNow - state.now
  },

  take(state, cost) {
    takeFrom(state, cost)
    state.count = state.countNow
  },

  unitsIn: ({ count }) => count,
  stateOf: (count) => ({ ...calendarWindow.create(), count }),
  // To the end of this window or of the next, whose lengths differ by less than half.
  countsForUs: ({ start1, start2 }) => 2 * (start2 - start1),
  windowUs: ({ start1, start2 }) => start2 - start1,

  force(state, used) {
    const granted = forceInto(state, used)
    state.count = state.countNow
    return granted
  },

  give(state, receipt) {
    const isGiven = giveTo(state, receipt)
    state.count = state.countNow
    return isGiven
  },
}

const ANCHORS: Readonly<Record<CalendarUnit, string>> = {
  h: "a date and time such as '2026-01-31T09:30', whose minutes are meant",
  d: "a date and time such as '2026-01-31T09:30', whose time of day is meant",
  week: "a weekday from 1 (Monday) to 7, or a date such as '2026-01-31'",
  month: "a day of the month from 1 to 31, or a date such as '2026-01-31'",
  year: "a date such as '2026-01-31', whose month and day are meant",
}

function isCalendarUnit(unit: string): unit is CalendarUnit {
  return unit in ANCHORS
}

function compileCalendar({ quota, window, options, path }: LimitTerms<CalendarWindowOptions>): Terms {
  const { timeZone = 'UTC', anchor } = options
  const { count, unit } = window
  if (count !== 1 || !isCalendarUnit(unit)) {
    const written = count === 1 ? unit : `${count} ${unit}`
    throw ConfigError.wrong(
      `${path}.window`,
      written,
      "'h', 'd', 'week', 'month' or 'year' for a window on the calendar; several are days, such as '90d'",
    )
  }
  if (typeof timeZone !== 'string' || !isTimeZone(timeZone)) {
    throw ConfigError.wrong(`${path}.timeZone`, timeZone, "a time zone such as 'Europe/Berlin'")
  }
  if (anchor !== undefined && !isAnchor(unit, anchor)) {
    throw ConfigError.wrong(`${path}.anchor`, anchor, ANCHORS[unit])
  }
  const calendar = createCalendar(unit, timeZone, anchor)
  const otherId = anchor === undefined ? billedId(unit) : 0
  const terms = {
    // Windows of the same length that start at other times get another id: their counts are not comparable.
    windowId: fnv1a(calendar.id) % 2 ** 28,
    ttlMs: calendar.maxWindowMs,
    timeZone,
    paramsAt: paramsOf(calendar, ([start0, start1, start2, start3]) => ({
      ...{ quota, start0, start1, start2, start3, otherId },
    })),
  }
  if (otherId === 0) return terms
  const plain = { quota, calendar, timeZone, stateId: calendarWindow.code * 2 ** 28 + terms.windowId }
  return { ...terms, otherId, bill: (day) => billedTerms(day, plain) }
}
