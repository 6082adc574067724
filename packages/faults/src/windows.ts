/** A unit that was let in, at some moment between these two. */
export interface Admission {
  readonly from: number
  readonly to: number
}

/** Two processes read one clock, but not through the same glass. */
const CLOCKS_PART_MS = 2

/**
 * The most that was let in within any true window of this length. When in its span an admission was decided is not
 * known from outside, so it counts where its whole span lies inside: this is never more than the truth.
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
