import { chain, type MaybePromise } from '../base/promises.js'
import type { Decision } from '../limiter/decision/decision.js'
import type { Consumer } from '../limiter/limiter.js'
import { isWithoutStates } from '../limiter/settle/settlement.js'
import type { Subject } from '../plans/subject.js'

/** A registered symbol, since a process may load both builds of core. */
const PASSED = Symbol.for('tollgate.passed')

/** Who decided a request, and which counters it used: those of one limiter, in one group. */
export interface CountedBy {
  readonly limiter: object
  readonly group: string | undefined
  readonly consumer: Consumer
  /** The same object for a middleware and its routes, which decide a request once, together. */
  readonly family: object
  /** Whether the decision covers all that a route asks for. */
  readonly isOfRoute: boolean
}

/** A decision on a request. A route of the same family can replace it. */
export interface Passed {
  decision: Decision
  by: CountedBy
  subjects: readonly [Subject, ...Subject[]]
}

/** A long request, such as that of a WebSocket, can be decided again and again. */
const MOST_KEPT = 32

interface WithDecisions {
  /** Not a list while there is only one, as for most requests. */
  [PASSED]?: Passed | Passed[]
}

/**
 * Returns Tollgate's decisions on a request, from all limiters that it passed, in the order in which they were made. Works
 * even if several limiters have the same `requestProperty`. Only the latest 32 are kept.
 *
 * @param req the request of Express or Fastify, the context of Koa
 */
export function decisionsOf(req: object): readonly Decision[] {
  const passed = (req as WithDecisions | undefined)?.[PASSED] ?? []
  return Array.isArray(passed) ? passed.map(({ decision }) => decision) : [passed.decision]
}

/**
 * Stores a decision with its request.
 *
 * @returns whether the same counters have counted this request before
 */
export function noteDecision(req: object, now: Passed): boolean {
  const { [PASSED]: before } = req as WithDecisions
  if (!before) {
    ;(req as WithDecisions)[PASSED] = now
    return false
  }
  const passed = Array.isArray(before) ? before : [before]
  const isAgain = passed.some((one) => isSameCount(one, now))
  passed.push(now)
  if (passed.length > MOST_KEPT) passed.shift()
  ;(req as WithDecisions)[PASSED] = passed
  return isAgain
}

/** The latest decision of a family that let the request in. */
export function lastOf(req: object, family: object): Passed | undefined {
  const { [PASSED]: passed } = req as WithDecisions
  if (!passed) return undefined
  const last = Array.isArray(passed) ? passed.findLast(({ by }) => by.family === family) : passed
  return last?.by.family === family && last.decision.allowed ? last : undefined
}

/** Decisions that a route is amending. */
const beingReplaced = new WeakMap<Decision, Promise<unknown>>()

/** Notes that another decision may replace this one until the promise settles. */
export function noteReplacing(decision: Decision, until: Promise<unknown>): void {
  const done = (): void => void beingReplaced.delete(decision)
  beingReplaced.set(decision, until.then(done, done))
}

/** Decisions that were replaced by another. */
const replaced = new WeakSet<Decision>()

/** Replaces a decision by another. */
export function replaceDecision(passed: Passed, now: Passed): void {
  replaced.add(passed.decision)
  Object.assign(passed, now)
}

/** Whether another decision replaced this one; a promise while that is not known yet. */
export function isReplaced(decision: Decision): MaybePromise<boolean> {
  return chain(beingReplaced.get(decision), () => replaced.has(decision))
}

/** A plan without limits counts nothing. */
function isCounted(decision: Decision): boolean {
  return decision.limits.length > 0 || isWithoutStates(decision)
}

/** Whether both used the same counters. The middleware can differ: two that share a limiter share its counters. */
function isSameCount({ decision: a, by }: Passed, { decision: b, by: other }: Passed): boolean {
  if (by.limiter !== other.limiter || by.group !== other.group) return false
  if (!isCounted(a) || !isCounted(b)) return false
  return String(a.subject.id) === String(b.subject.id) && a.subject.kind === b.subject.kind
}
