/** A unit that was let in at some moment between `from` and `to`, in ms. */
export interface Admission {
  readonly from: number
  readonly to: number
}

/** The clocks of two processes on one machine differ by less than this. */
const CLOCKS_PART_MS = 2

/**
 * The most units that were let in within any true window of `windowMs`. The exact moment of an admission is unknown, so
 * it counts only where its whole span lies in the window: the result is never more than the truth.
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
