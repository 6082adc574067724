/** The largest quota, burst or cost that options allow, in units. */
const MOST_UNITS = 1e12

export function isUnits(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MOST_UNITS
}

/** The part of `units` that `share` stands for (0 to 1), rounded down, but at least 1. */
export function shareOfUnits(units: number, share: number): number {
  return Math.max(Math.floor(units * share), 1)
}
