import type { Decision } from '../limiter/decision.js'

/** A registered symbol, since a process may load both builds of core. */
const PASSED = Symbol.for('tollgate.passed')

/** A decision on a request, and the mounted limiter that made it. */
interface Passed {
  readonly decision: Decision
  readonly by: object
}

interface WithDecisions {
  [PASSED]?: Passed[]
}

/**
 * All decisions of Tollgate on a request, of all limiters it passed, in the order they were made. Complete even if
 * several limiters have the same `requestProperty`.
 *
 * @param req the request of Express or Fastify, the context of Koa
 */
export function decisionsOf(req: object): readonly Decision[] {
  return (req as WithDecisions)[PASSED]?.map(({ decision }) => decision) ?? []
}

/**
 * Stores a decision with its request.
 *
 * @param by the mounted limiter that made it
 * @returns  whether the same one has decided this request before
 */
export function noteDecision(req: object, decision: Decision, by: object): boolean {
  const passed = (req as WithDecisions)[PASSED]
  if (!passed) {
    ;(req as WithDecisions)[PASSED] = [{ decision, by }]
    return false
  }
  const isAgain = passed.some((before) => before.by === by)
  passed.push({ decision, by })
  return isAgain
}
