import { NEVER, OUTSIDE_CALENDAR, unitsThatFit, type Implementation, type Receipt } from './implementation.js'

/** Four consecutive starts of calendar windows around now, in µs since 1970. */
export interface CalendarWindowParams {
  readonly quota: number
  readonly start0: number
  readonly start1: number
  readonly start2: number
  readonly start3: number
}

export interface CalendarWindowState {
  count: number
  now: number
  countNow: number
  /** The window that now is in; `endNow` is 0 when the starts do not reach now. */
  startNow: number
  endNow: number
}

/**
 * A counter on the calendar: hours, days, weeks or months of a time zone. The twin of calendar-window.lua.
 * Redis knows no time zones, so the caller works the starts of the windows out and the script picks the one
 * its own clock is in. Worst case: 2 x quota in one window length, half of it on each side of a seam.
 */
export const calendarWindow: Implementation<CalendarWindowState, CalendarWindowParams> = {
  code: 2,
  wire: ['quota', 'start0', 'start1', 'start2', 'start3'],

  create: () => ({ count: 0, now: 0, countNow: 0, startNow: 0, endNow: 0 }),

  load(state, last, now, params) {
    pickWindow(state, now, params)
    state.countNow = Math.min(last, now) >= state.startNow ? state.count : 0
  },

  remaining: (state, { quota }) => Math.max(quota - state.countNow, 0),

  wait(state, cost, { quota }) {
    if (state.endNow === 0) return OUTSIDE_CALENDAR
    if (cost > quota) return NEVER
    return state.countNow + cost <= quota ? 0 : state.endNow - state.now
  },

  take(state, cost) {
    state.countNow += cost
    state.count = state.countNow
  },

  force(state, used) {
    let granted = 0
    for (const { units, ageUs } of used) {
      const counts = state.now - ageUs >= state.startNow
      const fitting = counts ? unitsThatFit(units, state.countNow) : units
      if (counts) state.countNow += fitting
      granted += fitting
    }
    state.count = state.countNow
    return granted
  },

  give(state, receipt: Receipt) {
    const before = state.countNow
    if (receipt.at >= state.startNow) state.countNow = Math.max(before - receipt.units, 0)
    state.count = state.countNow
    return state.countNow < before
  },
}

function pickWindow(state: CalendarWindowState, now: number, params: CalendarWindowParams): void {
  const { start0, start1, start2, start3 } = params
  state.now = now
  if (now < start0 || now >= start3) {
    state.startNow = state.endNow = 0
  } else if (now < start1) {
    state.startNow = start0
    state.endNow = start1
  } else if (now < start2) {
    state.startNow = start1
    state.endNow = start2
  } else {
    state.startNow = start2
    state.endNow = start3
  }
}
