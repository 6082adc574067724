/** Durations in ms. A local time is a number of ms as well: `Date.UTC` of what the wall clock shows. */
export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const WEEK = 7 * DAY

export function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor
}
