// What decisions tell, as it is compared.
import type { Decision } from '../../src/index.js'

export type Told = Pick<Decision, 'limits'> & Partial<Decision>

/** What a look tells, without requests in flight: Redis hears a moment later that they have ended. */
export function withoutSlots(seen: Decision): Told {
  const limits = seen.limits.filter(({ quotaUnit }) => quotaUnit === undefined)
  return limits.length < seen.limits.length ? { limits } : seen
}

/** The order of the decisions of one moment: those from memory were made before the store got the others. */
export function memoryFirst(decisions: readonly Decision[]): number[] {
  const isLate = (i: number): number => Number(decisions[i]?.source !== 'cache')
  return [...decisions.keys()].toSorted((a, b) => isLate(a) - isLate(b))
}
