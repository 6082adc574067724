import { NEVER } from '../../algorithms/implementation.js'
import type { Limit } from '../../plans/limit/limit.js'
import type { Subject } from '../../plans/subject.js'
import { type Request, type Verdict, isBlocked, isTaken, toVerdict } from '../../requests/request.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import {
  type Block,
  type Decision,
  type DecisionSource,
  type DenialReason,
  type LimitState,
  type ObservedLimit,
  NONE,
  RETRY_AFTER_FAILURE_MS,
} from './decision.js'
import {
  denying,
  denyingLimits,
  denyingOwners,
  limitsIn,
  limitsReportedBy,
  ownersReportedBy,
  reportedParts,
  toLimitStates,
  toLimitStatesOfAll,
  toMs,
  toObserved,
  toStatesOfOutcome,
  toStatesOfShares,
} from './limit-states.js'

/** A decision by limits that the store or this process counts. */
export class CountedDecision implements Decision {
  // Only declared: defining each field before it gets its value would cost time. The constructor sets their order.
  declare readonly allowed: boolean
  declare readonly subject: Subject
  declare readonly plan: string
  declare readonly cost: number
  declare readonly limits: readonly LimitState[]
  declare readonly violated: readonly string[]
  declare readonly retryAfterMs: number | null
  declare readonly source: DecisionSource
  declare readonly reason?: DenialReason
  declare readonly waitedMs?: number
  declare readonly localLimits?: readonly LimitState[]
  declare readonly override?: true
  declare readonly block?: Block
  declare readonly observed?: readonly ObservedLimit[]
  // What a refund needs. Kept apart from the fields above, which users can change.
  readonly #request: Request
  /** The store's, if it decided the request in one step. Verdicts are then made only when they are asked for. */
  readonly #outcome: Outcome | undefined
  readonly #origin: Origin
  #taken: number
  #isSettled = false

  /** @param outcome the store's, if it decided the request in one step; otherwise the origin has verdicts */
  constructor(request: Request, outcome: Outcome | undefined, origin: Origin) {
    const { subject, plan, cost, limits } = request
    const denial = outcome ? undefined : denialIn(origin.verdicts)
    const isAllowed = outcome ? isTaken(outcome) : denial === undefined
    this.allowed = isAllowed
    this.subject = subject
    this.plan = plan.name
    this.cost = cost
    if (outcome) {
      this.limits = toStatesOfOutcome(outcome, limits)
      this.violated = isAllowed ? NONE : violatedNames(outcome, limits)
      this.retryAfterMs = isAllowed ? 0 : toRetryAfterMs(outcome)
      this.source = 'store'
      if (!isAllowed) this.reason = toReason('store', outcome, this.retryAfterMs)
    } else {
      this.limits = denial
        ? toLimitStates(denial)
        : toLimitStatesOfAll(request, origin.verdicts, toLimitStates)
      this.violated = denial?.outcome ? violatedNames(denial.outcome, limitsIn(denial)) : NONE
      this.retryAfterMs = denial ? toRetryAfterMs(denial.outcome) : 0
      this.source = (denial ?? findWeakest(origin.verdicts)).source
      if (denial) this.reason = toReason(denial.source, denial.outcome, this.retryAfterMs)
      const waitedMs = this.source === 'place' ? origin.verdicts[0]?.waitedMs : undefined
      if (waitedMs !== undefined) this.waitedMs = waitedMs
      if (this.source === 'local') this.localLimits = toStatesOfShares(denial ? [denial] : origin.verdicts)
    }
    if (plan.isOverridden) this.override = true
    const block = this.reason === 'blocked' ? blockIn(verdictsFor(request, outcome, origin)) : undefined
    if (block) this.block = block
    const mayObserve = request.isLenient && isAllowed
    const observed = mayObserve ? toObserved(request, verdictsFor(request, outcome, origin)) : undefined
    if (observed?.length) this.observed = observed
    this.#request = request
    this.#outcome = outcome
    this.#origin = origin
    this.#taken = isAllowed && !origin.isPeek ? cost : 0
  }

  release(): boolean {
    return false
  }

  /** False for a proxy, or an object that inherits from a decision: they do not have what a refund needs. */
  static is(given: unknown): given is CountedDecision {
    return typeof given === 'object' && given !== null && #request in given
  }

  static by(decision: CountedDecision): object {
    return decision.#origin.by
  }

  static requestOf(decision: CountedDecision): Request {
    return decision.#request
  }

  static verdictsOf(decision: CountedDecision): readonly Verdict[] {
    return verdictsFor(decision.#request, decision.#outcome, decision.#origin)
  }

  /** The verdict that denied the request. */
  static findDenial(decision: CountedDecision): Verdict | undefined {
    return denialIn(CountedDecision.verdictsOf(decision))
  }

  /**
   * The limits it reports. Decisions about the same limits share one array until the plans change, so headers are
   * cached.
   */
  static limitsOf(decision: CountedDecision): readonly Limit[] {
    const limits = denyingLimits(decision.#request)
    if (decision.#outcome) return limits
    const denial = CountedDecision.findDenial(decision)
    if (denial) return limitsReportedBy(denial)
    if (decision.limits.length === limits.length) return limits
    return denying(reportedParts(CountedDecision.verdictsOf(decision)).flatMap((part) => part.limits))
  }

  /** The subject of each of those limits. */
  static ownersOf(decision: CountedDecision): readonly Subject[] {
    const denial = CountedDecision.findDenial(decision)
    if (denial) return ownersReportedBy(denial)
    const reported = reportedParts(CountedDecision.verdictsOf(decision))
    const { parts } = decision.#request
    return denyingOwners(parts.filter((part) => reported.includes(part)))
  }

  static takenBy(decision: CountedDecision): number {
    return decision.#taken
  }

  static noteTaken(decision: CountedDecision, units: number): void {
    decision.#taken = units
  }

  /** Marks it as settled. Returns false if it was settled before or took nothing. */
  static settle(decision: CountedDecision): boolean {
    if (decision.#isSettled || decision.#taken === 0) return false
    decision.#isSettled = true
    return true
  }
}

function verdictsFor(
  request: Request,
  outcome: Outcome | undefined,
  { verdicts }: Origin,
): readonly Verdict[] {
  return outcome ? [toVerdict('store', request, outcome)] : verdicts
}

function denialIn(verdicts: readonly Verdict[]): Verdict | undefined {
  return verdicts.find(({ allowed }) => !allowed)
}

const STRENGTH: Readonly<Record<Verdict['source'], number>> = {
  local: 0,
  open: 1,
  closed: 2,
  unlimited: 3,
  rule: 3,
  blocked: 3,
  store: 4,
  place: 4,
  lease: 4,
  cache: 4,
}

/** The verdict with the weakest source, by STRENGTH. All given verdicts allow the request. */
export function findWeakest(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((weakest, one) => (STRENGTH[one.source] < STRENGTH[weakest.source] ? one : weakest))
}

/** The names of the limits that denied; not those of a blocked key, which a block denied. */
function violatedNames(outcome: Outcome, limits: readonly Limit[]): readonly string[] {
  if (isBlocked(outcome))
    return limits.filter((_, i) => isViolated(outcome.limits[i])).map(({ name }) => name)
  // Most often it is the only limit.
  if (limits.length === 1) return [(limits[0] as Limit).name]
  return limits.filter((_, i) => outcome.limits[i]?.wait !== 0).map(({ name }) => name)
}

function isViolated(limit: LimitOutcome | undefined): boolean {
  return limit?.wait !== 0 && !limit?.block
}

/** ms until the request fits; null when it never can. */
function toRetryAfterMs(outcome: Outcome | undefined): number | null {
  if (!outcome) return RETRY_AFTER_FAILURE_MS
  let worst = 0
  for (const { wait } of outcome.limits) {
    if (wait === NEVER) return null
    if (wait > worst) worst = wait
  }
  return toMs(worst)
}

function toReason(
  source: Verdict['source'],
  outcome: Outcome | undefined,
  retryAfterMs: number | null,
): DenialReason {
  if (source === 'closed') return 'store-unavailable'
  if (outcome && isBlocked(outcome)) return 'blocked'
  return retryAfterMs === null ? 'cost-exceeds-quota' : 'quota-exceeded'
}

/** How a decision was made. */
export interface Origin {
  readonly isPeek: boolean
  /** The pipeline that decided; no other may give the units back. */
  readonly by: object
  /** On every step that was asked; the first denial decides. Not used if the store decided the request in one step. */
  readonly verdicts: readonly Verdict[]
}

/** The block that came by itself, if one denied the request. */
function blockIn(verdicts: readonly Verdict[]): Block | undefined {
  const { step, parts = step.parts, outcome } = denialIn(verdicts) as Verdict
  for (const [{ subject }, limits] of outcome ? limitsByPart(parts, outcome.limits) : []) {
    const block = limits[0]?.block
    if (!outcome || !block) continue
    const until = new Date(Math.ceil((outcome.at + block.endsInUs) / 1000))
    return { of: String(subject.id), until, level: block.level }
  }
  return undefined
}
