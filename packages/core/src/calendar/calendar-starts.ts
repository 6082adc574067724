import { DAY, HOUR, modulo, WEEK } from './local-time.js'
import type { Phase } from './calendar-anchor.js'
import type { OffsetAt } from './time-zone.js'

/** Four consecutive window starts in ms since 1970: previous, current (<= now), next (> now), and the one after it. */
export type Starts = readonly [previous: number, current: number, next: number, following: number]

/** Numbers the window starts of a unit. Local times are in ms, as if the wall clock showed UTC. */
interface LocalStarts {
  numberAt(localMs: number): number
  localOf(number: number): number
}

/** 1970-01-05, the first Monday of the epoch: weeks are counted from there. */
const FIRST_MONDAY = 4 * DAY

export function localStartsOf(unit: 'd' | 'week' | 'month', phase: Phase): LocalStarts {
  if (unit === 'd') return evenStarts(DAY, phase.timeOfDayMs)
  if (unit === 'week') return evenStarts(WEEK, FIRST_MONDAY + (phase.weekday - 1) * DAY + phase.timeOfDayMs)
  return monthStarts(phase)
}

function evenStarts(lengthMs: number, firstMs: number): LocalStarts {
  return {
    numberAt: (localMs) => Math.floor((localMs - firstMs) / lengthMs),
    localOf: (number) => firstMs + number * lengthMs,
  }
}

/** Each month is computed from the anchor, not from the month before: else a 31st would become a 28th for good. */
function monthStarts({ dayOfMonth, timeOfDayMs }: Phase): LocalStarts {
  return {
    numberAt(localMs) {
      const local = new Date(localMs)
      return local.getUTCFullYear() * 12 + local.getUTCMonth()
    },
    localOf(number) {
      const year = Math.floor(number / 12)
      const month = modulo(number, 12)
      const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
      return Date.UTC(year, month, Math.min(dayOfMonth, lastDay)) + timeOfDayMs
    },
  }
}

/**
 * Finds starts of days, weeks or months. Two numbers can have the same start: Samoa had no 2011-12-30, so the starts
 * of the 30th and the 31st are one instant, and count as one window.
 */
export function dateFinder(starts: LocalStarts, offsetAt: OffsetAt): (nowMs: number) => Starts {
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

/** The instant of a local time. One that occurs twice means the earlier; one that is skipped uses the offset before. */
function instantOf(localMs: number, offsetAt: OffsetAt): number {
  // Offsets are less than a day, so these two instants enclose every change that matters.
  const before = offsetAt(localMs - DAY)
  const after = offsetAt(localMs + DAY)
  const instant = localMs - before
  if (before === after || offsetAt(instant) === before) return instant
  return offsetAt(localMs - after) === after ? localMs - after : instant
}

/**
 * Finds starts of hours: each instant at which the minutes of the clock are those of the anchor. Where clocks move by
 * half an hour, one window is shorter or longer than an hour, but always shorter than two.
 */
export function hourFinder(phaseMs: number, offsetAt: OffsetAt): (nowMs: number) => Starts {
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
