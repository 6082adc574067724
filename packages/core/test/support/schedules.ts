import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Decision, Limiter } from '../../src/index.js'
import type { Clock } from './benches.js'

/** `gapUs` after the last step: `count` requests at once, of `cost` units each. */
export interface Step {
  readonly gapUs: number
  readonly count: number
  readonly cost: number
}

/** Random cases for each law and algorithm in test/laws. (test/roads plays more schedules for each law.) */
export const CASES = cases(25, 250)
const AT_ONCE = cases(25, 50)

/**
 * Checks random cases, many at a time, because a case mostly waits for Redis. A failed case is not shrunk: that would take
 * minutes.
 */
export async function forAll<T>(
  values: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  count = CASES,
): Promise<void> {
  const some = fc.array(values, { minLength: AT_ONCE, maxLength: AT_ONCE })
  const property = fc.asyncProperty(some, async (all) => {
    await Promise.all(all.map(holds))
  })
  await fc.assert(property, { numRuns: Math.ceil(count / AT_ONCE), endOnFailure: true })
}

/** Steps over some windows, with many gaps and costs right at the edges of window and quota. */
export function schedule(quota: number, windowMs: number): fc.Arbitrary<Step[]> {
  const windowUs = windowMs * 1000
  const gapUs = fc.oneof(
    fc.constantFrom(0, 1, Math.floor(windowUs / 2), windowUs - 1, windowUs, windowUs + 1),
    fc.integer({ min: 0, max: Math.floor(windowUs / 4) }),
    fc.integer({ min: 0, max: 2 * windowUs }),
  )
  const step = fc.record({
    gapUs,
    count: fc.integer({ min: 1, max: 5 }),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: quota + 1 })),
  })
  return fc.array(step, { minLength: 1, maxLength: 12 })
}

export interface Admitted {
  readonly atUs: number
  readonly cost: number
}

/** Plays a schedule as one subject. Resolves with the admitted units and all decisions. */
export async function play(
  limiter: Limiter,
  clock: Clock,
  steps: readonly Step[],
): Promise<{ admitted: Admitted[]; decisions: Decision[] }> {
  const admitted: Admitted[] = []
  const decisions: Decision[] = []
  for (const { gapUs, count, cost } of steps) {
    advance(clock, gapUs)
    const requests = Array.from({ length: count }, () => limiter.consume('acme', { cost }))
    for (const decision of await Promise.all(requests)) {
      decisions.push(decision)
      if (decision.allowed) admitted.push({ atUs: toUs(clock), cost })
    }
  }
  return { admitted, decisions }
}

export function advance(clock: Clock, us: number): void {
  clock.now = (toUs(clock) + us) / 1000
}

export function toUs(clock: Clock): number {
  return Math.round(clock.now * 1000)
}

/** The most units in any half-open window of `windowMs`. Only windows that begin with a request need a look. */
export function mostInAnyWindow(admitted: readonly Admitted[], windowMs: number): number {
  const inWindowFrom = (start: number): number =>
    admitted
      .filter(({ atUs }) => atUs >= start && atUs < start + windowMs * 1000)
      .reduce((sum, { cost }) => sum + cost, 0)
  return Math.max(0, ...admitted.map(({ atUs }) => inWindowFrom(atUs)))
}
