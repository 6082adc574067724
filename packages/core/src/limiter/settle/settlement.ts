import { show, TollgateError } from '../../base/errors.js'
import { quiet } from '../../base/promises.js'
import type { Limit } from '../../plans/limit/limit.js'
import type { Subject } from '../../plans/subject.js'
import { type Request, type RequestSlots, type Verdict, needCost, withHold } from '../../requests/request.js'
import { isReserved } from '../../features/holds/hold.js'
import type { Pipeline } from '../pipeline/pipeline.js'
import { CountedDecision } from '../decision/counted-decision.js'
import { denyingLimits, denyingOwners } from '../decision/limit-states.js'
import type { Decision, DecisionSource } from '../decision/decision.js'

/** Sets what requests cost after they were decided: gives units back, takes more, or ends a reservation. */
export class Settling {
  readonly #pipeline: Pipeline

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline
  }

  /** As Limiter.refund. */
  async refund(decision: Decision): Promise<boolean> {
    const settlement = settleDecision(decision, 0, this.#pipeline)
    const given = settlement === undefined ? [] : await this.#pipeline.refund(settlement)
    const isGiven = given.includes('given')
    // A reservation that has ended by then no longer counts.
    const isEnded = given.every((one) => one === 'gone') && settlement?.verdicts.every(isReserved)
    if (isGiven || isEnded) noteTaken(decision, 0)
    return isGiven
  }

  /** As Limiter.settle. */
  async settle(decision: Decision, cost: number): Promise<number> {
    needCost(cost, 0)
    const settlement = settleDecision(decision, cost, this.#pipeline)
    if (settlement) noteTaken(decision, await this.#settle(settlement, cost))
    return takenBy(decision)
  }

  /** Resolves to the units that the request has taken in all. */
  async #settle(settlement: Settlement, cost: number): Promise<number> {
    const { request, verdicts, units } = settlement
    if (verdicts.some(isReserved)) return this.#commit(settlement, cost)
    if (units > 0) return this.#settleDown(settlement, cost)
    return cost === request.cost ? cost : request.cost + (await this.#takeMore(settlement, cost))
  }

  /** If a step may not have given its units back, the old cost is reported: one of the subjects may still hold it. */
  async #settleDown(settlement: Settlement, cost: number): Promise<number> {
    const given = await this.#pipeline.refund(settlement)
    return given.includes('given') && !given.includes('unknown') ? cost : settlement.request.cost
  }

  #takeMore({ request }: Settlement, cost: number): Promise<number> {
    return this.#pipeline.takeMore(withHold(request, undefined), cost - request.cost)
  }

  async #commit(settlement: Settlement, cost: number): Promise<number> {
    const { request, verdicts, units } = settlement
    const used = request.cost - units
    const counted = await Promise.all(verdicts.map((verdict) => this.#count(settlement, verdict, used)))
    const more = cost > request.cost ? await this.#takeMore(settlement, cost) : 0
    return Math.max(...counted) + more
  }

  /** The units of a reservation that has ended are free, so they are taken again as far as they fit. */
  async #count({ request }: Settlement, verdict: Verdict, used: number): Promise<number> {
    const { step } = verdict
    if (!isReserved(verdict)) {
      const settlement = { request, verdicts: [verdict], units: step.cost - used }
      return step.cost === used ? used : this.#settleDown(settlement, used)
    }
    const found = await this.#pipeline.holds.settle(verdict, used)
    if (found.includes('unsent')) return 0
    const parts = step.parts.filter((_, i) => found[i] === 'over' || found[i] === 'lost')
    if (used === 0 || parts.length === 0) return used
    return this.#pipeline.takeMore({ ...withHold(step, undefined), parts }, used)
  }
}

/** The settlement of a decision: units go back, or more are taken. A decision has at most one. */
export interface Settlement {
  readonly request: Request
  readonly verdicts: readonly Verdict[]
  /** How many units go back. */
  readonly units: number
}

/**
 * Starts the settlement of a decision. Returns undefined when it took no units, or was settled before.
 *
 * @param units the new cost
 * @param by    the pipeline that made the decision
 * @throws {TollgateError} ERR_TOLLGATE_DECISION when the decision is another limiter's, or a copy: a copy does not show
 *                         whether the original was settled
 */
export function settleDecision(decision: Decision, units: number, by: object): Settlement | undefined {
  if (!isCounted(decision)) return undefined
  if (CountedDecision.by(decision) !== by) {
    throw new TollgateError(
      'ERR_TOLLGATE_DECISION',
      'decision: got one from another limiter: call refund or settle on the limiter that decided',
    )
  }
  if (!CountedDecision.settle(decision)) return undefined
  const request = CountedDecision.requestOf(decision)
  return { request, verdicts: CountedDecision.verdictsOf(decision), units: Math.max(request.cost - units, 0) }
}

/** The verdicts that give units back, and how many. If several took from the same parts, the last one gives back first. */
export function toUnitsBack({ request, verdicts, units }: Settlement): (readonly [Verdict, number])[] {
  const cost = request.cost - units
  return verdicts
    .map((verdict) => {
      const { step, above = 0 } = verdict
      return [verdict, above + step.cost - Math.max(cost, above)] as const
    })
    .filter(([, back]) => back > 0)
}

/**
 * The units that a request has taken in all, as of now: a pending settlement may still change that.
 *
 * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is a copy of a decision
 */
export function takenBy(decision: Decision): number {
  return isCounted(decision) ? CountedDecision.takenBy(decision) : 0
}

/** Remembers how many units a request has taken in all, after its settlement. */
export function noteTaken(decision: Decision, units: number): void {
  if (CountedDecision.is(decision)) CountedDecision.noteTaken(decision, units)
}

/** The subject of each limit that `limitsOf` returns. */
export function ownersOf(decision: Decision): readonly Subject[] {
  if (isWithoutNumbers(decision)) return denyingOwners(CountedDecision.requestOf(decision).parts)
  if (CountedDecision.is(decision) && decision.limits.length > 0) return CountedDecision.ownersOf(decision)
  return decision.limits.map(() => decision.subject)
}

/**
 * The limits that a decision reports. A decision from a lease or a place reports no numbers, so it has all limits of its
 * request. Decisions about the same limits share one array until the plans change.
 */
export function limitsOf(decision: Decision): readonly Limit[] | undefined {
  if (isWithoutNumbers(decision)) return denyingLimits(CountedDecision.requestOf(decision))
  return CountedDecision.is(decision) ? CountedDecision.limitsOf(decision) : undefined
}

/** Whether a decision reports no numbers at all. If it has limits, the store decided a part of it. */
function isWithoutNumbers(decision: Decision): decision is CountedDecision {
  return CountedDecision.is(decision) && isWithoutStates(decision) && decision.limits.length === 0
}

/** Whether a decision counted units but reports no numbers, since others may have used units after the store was asked. */
export function isWithoutStates({ source }: Decision): boolean {
  return source === 'lease' || source === 'place'
}

function isCounted(decision: Decision): decision is CountedDecision {
  if (CountedDecision.is(decision)) return true
  if (OTHER_SOURCES.includes(decision?.source)) return false
  quiet(decision)
  const expected = 'the decision that consume returned, not a copy: limiter.refund(await limiter.consume(id))'
  throw new TollgateError('ERR_TOLLGATE_DECISION', `decision: got ${show(decision)}, expected ${expected}`)
}

const OTHER_SOURCES: readonly unknown[] = [
  'unlimited',
  'blocked',
  'open',
  'closed',
  'list',
  'shed',
] satisfies DecisionSource[]

/** Concludes a request's slots. If the request was let in, the decision can release them. */
export function holdSlots(decision: Decision, slots: RequestSlots): void {
  slots.conclude(decision.allowed)
  // The decision's own property, so that a copy of the decision releases the same slots.
  if (decision.allowed) (decision as { release: () => boolean }).release = () => slots.release()
}

/** Makes a decision also release the slots of an earlier one, which it includes. */
export function holdBoth(decision: Decision, earlier: Decision): Decision {
  if (!hasSlots(earlier)) return decision
  const own = decision.release.bind(decision)
  const releases = [() => earlier.release(), own]
  ;(decision as { release: () => boolean }).release = () =>
    releases.map((release) => release()).includes(true)
  return decision
}

/** Whether a decision took slots that must be released: only then it has its own `release`. */
export function hasSlots(decision: Decision): boolean {
  return Object.hasOwn(decision, 'release')
}
