import { EARLIEST, MOST_UNITS, unitsThatFit, type Receipt, type Usage } from '../implementation.js'

/** The window of now, and what it counts. Times are in µs. */
export interface Counter {
  now: number
  startNow: number
  countNow: number
}

/** Four consecutive starts of windows. */
interface Starts {
  readonly start0: number
  readonly start1: number
  readonly start2: number
  readonly start3: number
}

/** The window of the calendar that a time is in; [0, 0] outside the four starts. */
export function windowAt(now: number, { start0, start1, start2, start3 }: Starts): readonly [number, number] {
  if (now < start0 || now >= start3) return [0, 0]
  if (now < start1) return [start0, start1]
  return now < start2 ? [start1, start2] : [start2, start3]
}

/** Whether no whole window has passed since the end of one: the window before that of now began earlier. */
export function isRecent(endUs: number, now: number, { start0, start1, start2 }: Starts): boolean {
  // Months differ, but the time before the first start is asked for only while clocks do.
  if (now < start1) return endUs > 2 * start0 - start1
  return endUs > (now < start2 ? start0 : start1)
}

/** The beginning and end of the window before that of now. */
export function windowBefore({ startNow }: Counter, starts: Starts): readonly [number, number] | undefined {
  const [start] = windowAt(startNow - 1, starts)
  return start > 0 ? [start, startNow] : undefined
}

/** With overage, nothing but MOST_UNITS bounds the count. */
export function takeFrom(counter: Counter, cost: number): void {
  counter.countNow = Math.min(counter.countNow + cost, MOST_UNITS)
}

/** Counts units that were used earlier, if that was in this window. Returns how many are accounted for. */
export function forceInto(counter: Counter, used: readonly Usage[]): number {
  let granted = 0
  for (const { units, ageUs } of used) {
    const counts = counter.now - ageUs >= counter.startNow
    const fitting = counts ? unitsThatFit(units, counter.countNow) : units
    if (counts) counter.countNow += fitting
    granted += fitting
  }
  return granted
}

/** Gives units back that were taken in this window. Returns whether there were any. */
export function giveTo(counter: Counter, { at, units }: Receipt): boolean {
  const before = counter.countNow
  if (at === EARLIEST || at >= counter.startNow) counter.countNow = Math.max(before - units, 0)
  return counter.countNow < before
}
