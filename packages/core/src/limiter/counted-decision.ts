import type { Limit } from '../plans/limit.js'
import type { Subject } from '../plans/subject.js'
import { ownersOf, type Request } from '../requests/request.js'
import { isTaken, verdictOf, type Verdict } from '../requests/verdict.js'
import type { Outcome } from '../stores/contract.js'
import { NONE, type Decision, type DecisionSource, type DenialReason, type LimitState } from './decision.js'
import { reasonOf, retryAfterOf, violatedOf, weakestOf } from './judgement.js'
import {
  limitsToldBy,
  ownersToldBy,
  statesOf,
  statesOfAll,
  statesOfOutcome,
  toldParts,
} from './told-limits.js'

/** How a decision was made. */
export interface Origin {
  readonly isPeek: boolean
  /** The pipeline that decided; no other may give the units back. */
  readonly by: object
  /** Of every step that was asked; the first denial decides. Not used when the store decided the request in one. */
  readonly verdicts: readonly Verdict[]
}

/** What a refund needs. Apart from the decision's fields, which users can change. */
interface Kept {
  readonly request: Request
  /** The store's outcome, if it decided the request in one step: verdicts are then made only when somebody asks. */
  readonly outcome: Outcome | undefined
  readonly origin: Origin
  taken: number
  isSettled: boolean
}

/** A decision of counted limits, by the store or by this process. */
export class CountedDecision implements Decision {
  // Only declared: to define each field before it gets its value takes time. The constructor sets their order.
  declare readonly allowed: boolean
  declare readonly subject: Subject
  declare readonly plan: string
  declare readonly cost: number
  declare readonly limits: readonly LimitState[]
  declare readonly violated: readonly string[]
  declare readonly retryAfterMs: number | null
  declare readonly source: DecisionSource
  declare readonly reason?: DenialReason
  readonly #kept: Kept

  /** @param outcome the store's, if it decided the request in one step; else the origin has verdicts */
  constructor(request: Request, outcome: Outcome | undefined, origin: Origin) {
    const { subject, plan, cost } = request
    const isTakenAtOnce = outcome !== undefined && isTaken(outcome)
    const denial = isTakenAtOnce ? undefined : denialIn(verdictsFor(request, outcome, origin))
    this.allowed = denial === undefined
    this.subject = subject
    this.plan = plan.name
    this.cost = cost
    if (isTakenAtOnce) {
      this.limits = statesOfOutcome(outcome, request.limits)
      this.violated = NONE
      this.retryAfterMs = 0
      this.source = 'store'
    } else {
      this.limits = denial ? statesOf(denial) : statesOfAll(request, origin.verdicts)
      this.violated = denial ? violatedOf(denial) : NONE
      this.retryAfterMs = denial ? retryAfterOf(denial) : 0
      this.source = (denial ?? weakestOf(origin.verdicts)).source
      if (denial) this.reason = reasonOf(denial, this.retryAfterMs)
    }
    const taken = denial === undefined && !origin.isPeek ? cost : 0
    this.#kept = { request, outcome, origin, taken, isSettled: false }
  }

  static by(decision: CountedDecision): object {
    return decision.#kept.origin.by
  }

  static requestOf(decision: CountedDecision): Request {
    return decision.#kept.request
  }

  static verdictsOf(decision: CountedDecision): readonly Verdict[] {
    const { request, outcome, origin } = decision.#kept
    return verdictsFor(request, outcome, origin)
  }

  /** What denied it. */
  static denialOf(decision: CountedDecision): Verdict | undefined {
    return denialIn(CountedDecision.verdictsOf(decision))
  }

  /**
   * The limits it reports. Decisions about the same limits share one array until the plans change, so headers are
   * cached.
   */
  static limitsOf(decision: CountedDecision): readonly Limit[] {
    const { request, outcome } = decision.#kept
    if (outcome) return request.limits
    const denial = CountedDecision.denialOf(decision)
    if (denial) return limitsToldBy(denial)
    const { limits } = request
    return decision.limits.length === limits.length
      ? limits
      : toldParts(CountedDecision.verdictsOf(decision)).flatMap((part) => part.limits)
  }

  /** The subject of each of those limits. */
  static ownersOf(decision: CountedDecision): readonly Subject[] {
    const denial = CountedDecision.denialOf(decision)
    if (denial) return ownersToldBy(denial)
    const told = toldParts(CountedDecision.verdictsOf(decision))
    const { parts } = decision.#kept.request
    return ownersOf(parts.filter((part) => told.includes(part)))
  }

  static takenBy(decision: CountedDecision): number {
    return decision.#kept.taken
  }

  static noteTaken(decision: CountedDecision, units: number): void {
    decision.#kept.taken = units
  }

  /** Marks it as settled. Returns false if it was settled before or took nothing. */
  static settle(decision: CountedDecision): boolean {
    const kept = decision.#kept
    if (kept.isSettled || kept.taken === 0) return false
    kept.isSettled = true
    return true
  }
}

function verdictsFor(
  request: Request,
  outcome: Outcome | undefined,
  { verdicts }: Origin,
): readonly Verdict[] {
  return outcome ? [verdictOf('store', request, outcome)] : verdicts
}

function denialIn(verdicts: readonly Verdict[]): Verdict | undefined {
  return verdicts.find(({ allowed }) => !allowed)
}
