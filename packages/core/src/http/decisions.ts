import type { Decision } from '../limiter/decision.js'

/** A registered symbol, since a process may load both builds of core. */
const PASSED = Symbol.for('tollgate.passed')

/** Which counters of which limiter: with a subject they say what a request is counted under. */
export interface CountedIn {
  /** Or what counts on top of it, and is no mistake unless it counts twice itself. */
  readonly limiter: object
  readonly group: string | undefined
}

interface Passed {
  readonly decision: Decision
  readonly by: CountedIn
}

interface WithDecisions {
  [PASSED]?: Passed[]
}

/**
 * All decisions of Tollgate on a request, in the order they were made: of every limiter that it has passed, also of
 * those that have the same `requestProperty`.
 *
 * @param req the request of Express or Fastify, the context of Koa
 */
export function decisionsOf(req: object): readonly Decision[] {
  return (req as WithDecisions)[PASSED]?.map(({ decision }) => decision) ?? []
}

/**
 * Keeps a decision with its request.
 *
 * @returns whether that request was counted under the same before
 */
export function noteDecision(req: object, decision: Decision, by: CountedIn): boolean {
  const passed = (req as WithDecisions)[PASSED]
  if (!passed) {
    ;(req as WithDecisions)[PASSED] = [{ decision, by }]
    return false
  }
  const isAgain = passed.some((before) => isSameCount(before, { decision, by }))
  passed.push({ decision, by })
  return isAgain
}

/** The middleware need not be the same: two that share a limiter count a subject under the same, too. */
function isSameCount({ decision: a, by }: Passed, { decision: b, by: other }: Passed): boolean {
  if (by.limiter !== other.limiter || by.group !== other.group) return false
  // Of a plan without limits nothing was counted.
  if (a.limits.length === 0 || b.limits.length === 0) return false
  return String(a.subject.id) === String(b.subject.id) && a.subject.kind === b.subject.kind
}
