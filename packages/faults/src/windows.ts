/** A unit that was allowed at some moment between `from` and `to`, in ms of the clock that all processes share. */
export interface Admission {
  readonly from: number
  readonly to: number
}

/** How far two processes may differ when they read the same clock, in ms. */
const CLOCKS_PART_MS = 2

/**
 * The most units allowed within any true window of this length. The exact moment of an admission is not known from
 * outside, so it only counts if its whole span lies inside the window. So the result is never more than the truth.
 */
export function mostInAnyWindow(admissions: readonly Admission[], windowMs: number): number {
  const byStart = admissions.toSorted((a, b) => a.from - b.from)
  let most = 0
  for (const [i, { from: start }] of byStart.entries()) {
    const end = start + windowMs - CLOCKS_PART_MS
    let inside = 0
    for (let j = i; j < byStart.length; j += 1) {
      const { from, to } = byStart[j] as Admission
      if (from >= end) break
      if (to < end) inside += 1
    }
    most = Math.max(most, inside)
  }
  return most
}
