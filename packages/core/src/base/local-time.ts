/** Lengths in ms. Local times are in ms, too, as if the wall clock showed UTC. */
export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const WEEK = 7 * DAY

export function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor
}
