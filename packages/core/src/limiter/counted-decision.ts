import { NEVER } from '../algorithms/implementation.js'
import type { Limit } from '../plans/limit.js'
import type { Subject } from '../plans/subject.js'
import { ownersOf, type Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import {
  NONE,
  RETRY_AFTER_FAILURE_MS,
  type Decision,
  type DecisionSource,
  type DenialReason,
  type LimitState,
} from './decision.js'
import {
  limitsIn,
  limitsToldBy,
  ownersToldBy,
  statesOf,
  statesOfAll,
  toldParts,
  toMs,
} from './told-limits.js'

/** How a decision was made. */
export interface Origin {
  readonly isPeek: boolean
  /** The pipeline that decided; no other may give the units back. */
  readonly by: object
}

/** A decision of counted limits, by the store or by this process. Keeps what a refund needs. */
export class CountedDecision implements Decision {
  readonly allowed: boolean
  readonly subject: Subject
  readonly plan: string
  readonly cost: number
  readonly limits: readonly LimitState[]
  readonly violated: readonly string[]
  readonly retryAfterMs: number | null
  declare readonly reason?: DenialReason
  readonly source: DecisionSource
  // Private, since a refund must not depend on the fields above, which users can change.
  readonly #request: Request
  readonly #verdicts: readonly Verdict[]
  readonly #denial: Verdict | undefined
  readonly #by: object
  #taken: number
  #isSettled = false

  /** @param verdicts of every step that was asked; the first denial decides */
  constructor(request: Request, verdicts: readonly Verdict[], { isPeek, by }: Origin) {
    const denial = verdicts.find(({ allowed }) => !allowed)
    this.allowed = denial === undefined
    this.subject = request.subject
    this.plan = request.plan.name
    this.cost = request.cost
    this.limits = denial ? statesOf(denial) : statesOfAll(request, verdicts)
    this.source = (denial ?? weakestOf(verdicts)).source
    this.violated = denial ? violatedOf(denial) : NONE
    this.retryAfterMs = denial ? retryAfterOf(denial) : 0
    if (denial) this.reason = reasonOf(denial, this.retryAfterMs)
    this.#request = request
    this.#verdicts = verdicts
    this.#denial = denial
    this.#by = by
    this.#taken = this.allowed && !isPeek ? request.cost : 0
  }

  static by(decision: CountedDecision): object {
    return decision.#by
  }

  static requestOf(decision: CountedDecision): Request {
    return decision.#request
  }

  static verdictsOf(decision: CountedDecision): readonly Verdict[] {
    return decision.#verdicts
  }

  /** What denied it. */
  static denialOf(decision: CountedDecision): Verdict | undefined {
    return decision.#denial
  }

  /**
   * The limits it reports. Decisions about the same limits share one array until the plans change, so headers are
   * cached.
   */
  static limitsOf(decision: CountedDecision): readonly Limit[] {
    const denial = decision.#denial
    if (denial) return limitsToldBy(denial)
    const { limits } = decision.#request
    return decision.limits.length === limits.length
      ? limits
      : toldParts(decision.#verdicts).flatMap((part) => part.limits)
  }

  /** The subject of each of those limits. */
  static ownersOf(decision: CountedDecision): readonly Subject[] {
    if (decision.#denial) return ownersToldBy(decision.#denial)
    const told = toldParts(decision.#verdicts)
    const { parts } = decision.#request
    return ownersOf(parts.filter((part) => told.includes(part)))
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

const STRENGTH: Readonly<Record<Verdict['source'], number>> = {
  local: 0,
  open: 1,
  closed: 2,
  unlimited: 3,
  blocked: 3,
  store: 4,
  cache: 4,
}

/** The verdict with the weakest source, by STRENGTH. All given verdicts allow the request. */
function weakestOf(verdicts: readonly Verdict[]): Verdict {
  return verdicts.reduce((weakest, one) => (STRENGTH[one.source] < STRENGTH[weakest.source] ? one : weakest))
}

function violatedOf(denial: Verdict): readonly string[] {
  const { outcome } = denial
  if (!outcome) return NONE
  return limitsIn(denial)
    .filter((_, i) => outcome.limits[i]?.wait !== 0)
    .map(({ name }) => name)
}

function retryAfterOf({ outcome }: Verdict): number | null {
  if (!outcome) return RETRY_AFTER_FAILURE_MS
  let worst = 0
  for (const { wait } of outcome.limits) {
    if (wait === NEVER) return null
    if (wait > worst) worst = wait
  }
  return toMs(worst)
}

function reasonOf({ source }: Verdict, retryAfterMs: number | null): DenialReason {
  if (source === 'closed') return 'store-unavailable'
  return retryAfterMs === null ? 'cost-exceeds-quota' : 'quota-exceeded'
}
