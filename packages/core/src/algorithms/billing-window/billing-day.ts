import { UNIT_MS } from '../../base/duration.js'
import {
  createCalendar,
  isAnchor,
  type Calendar,
  type CalendarAnchor,
  type CalendarUnit,
} from '../../calendar/calendar.js'
import { isTimeZone } from '../../calendar/time-zone.js'
import { paramsOf } from '../calendar-window/calendar-params.js'
import type { Terms } from '../limit-terms.js'
import { billingWindow } from './billing-window.js'

/** When the months and years of a subject begin: at its anchor, else as those of the limit, in its time zone. */
export interface BillingDay {
  readonly anchor?: CalendarAnchor | undefined
  readonly timeZone?: string | undefined
}

/** The id of billing windows: one for all months, and one for all years, so that units still count when the day is moved. */
const WINDOW_IDS: Partial<Record<CalendarUnit, number>> = { month: 1, year: 2 }

/** The state id of windows of this unit for subjects with a billing day; 0 if these have the same windows as all others. */
export function billedId(unit: CalendarUnit): number {
  const windowId = WINDOW_IDS[unit]
  return windowId === undefined ? 0 : billingWindow.code * 2 ** 28 + windowId
}

/** A limit of months or years without an anchor, as the subjects have it that have no billing day. */
export interface PlainCalendar {
  readonly quota: number
  readonly calendar: Calendar
  readonly timeZone: string
  readonly stateId: number
}

/** The terms of such a limit for subjects with this billing day. */
export function billedTerms(
  { anchor, timeZone }: BillingDay,
  { quota, calendar: plain, timeZone: own, stateId: otherId }: PlainCalendar,
): Terms {
  const zone = timeZone ?? own
  const calendar = createCalendar(plain.unit, zone, anchor)
  return {
    windowId: WINDOW_IDS[plain.unit] ?? 0,
    // The next window can begin as late as this, whatever the billing day is by then.
    ttlMs: 2 * calendar.maxWindowMs + UNIT_MS.d,
    timeZone: zone,
    paramsAt: paramsOf(
      calendar,
      ([start0, start1, start2, start3], [plainBefore, plainStart, plainEnd]) => ({
        ...{ quota, start0, start1, start2, start3 },
        ...{ otherId, plainStart, plainEnd, plainBefore },
      }),
      plain,
    ),
  }
}

/** Why this is no billing day: which part of it is wrong, and what would be right. Undefined if it is one. */
export function wrongInBillingDay(
  { anchor, timeZone }: { readonly anchor: unknown; readonly timeZone: unknown },
  hasYears: boolean,
): readonly [part: 'anchor' | 'timeZone', expected: string] | undefined {
  if (hasYears && typeof anchor === 'number')
    return ['anchor', "a date such as '2026-01-31', since the subject has a limit of a year"]
  if (anchor !== undefined && !isAnchor('month', anchor))
    return [
      'anchor',
      "a date such as '2026-01-31', without a time zone, or a day of the month as a number from 1 to 31",
    ]
  if (timeZone !== undefined && !isTimeZone(timeZone as string))
    return ['timeZone', "a time zone such as 'Europe/Berlin'"]
  return undefined
}

/** A text that is equal for days of equal windows. The day must be right. */
export function idOfBillingDay({ anchor, timeZone }: BillingDay, hasYears: boolean): string {
  const { id } = createCalendar(hasYears ? 'year' : 'month', timeZone ?? 'UTC', anchor)
  return timeZone === undefined ? `own ${id}` : `${timeZone} ${id}`
}
