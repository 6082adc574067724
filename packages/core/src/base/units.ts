/** The most units of a quota, a burst or a cost that options allow. */
const MOST_UNITS = 1e12

export function isUnits(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= MOST_UNITS
}

/** As much of some units as a share is: whole ones, and at least one. */
export function shareOfUnits(units: number, share: number): number {
  return Math.max(Math.floor(units * share), 1)
}
