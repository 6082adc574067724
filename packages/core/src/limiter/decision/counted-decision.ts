import { NEVER } from '../../algorithms/implementation.js'
import type { Limit } from '../../plans/limit/limit.js'
import type { Subject } from '../../plans/subject.js'
import {
  type Part,
  type Request,
  UNKNOWN,
  type Verdict,
  isTaken,
  ownersOf,
  toVerdict,
} from '../../requests/request.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import {
  type Decision,
  type DecisionSource,
  type DenialReason,
  type LimitState,
  NONE,
  NO_LIMITS,
  RETRY_AFTER_FAILURE_MS,
} from './decision.js'
import { shareOfUnits } from '../../base/options.js'
import { capacityOf, scaleLimit } from '../../plans/limit/limit-set.js'

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
      if (!isAllowed) this.reason = toReason('store', this.retryAfterMs)
    } else {
      this.limits = denial ? toLimitStates(denial) : toLimitStatesOfAll(request, origin.verdicts)
      this.violated = denial?.outcome ? violatedNames(denial.outcome, limitsIn(denial)) : NONE
      this.retryAfterMs = denial ? toRetryAfterMs(denial.outcome) : 0
      this.source = (denial ?? findWeakest(origin.verdicts)).source
      if (denial) this.reason = toReason(denial.source, this.retryAfterMs)
      const waitedMs = this.source === 'place' ? origin.verdicts[0]?.waitedMs : undefined
      if (waitedMs !== undefined) this.waitedMs = waitedMs
      if (this.source === 'local') this.localLimits = toStatesOfShares(denial ? [denial] : origin.verdicts)
    }
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
    const { limits } = decision.#request
    if (decision.#outcome) return limits
    const denial = CountedDecision.findDenial(decision)
    if (denial) return limitsReportedBy(denial)
    return decision.limits.length === limits.length
      ? limits
      : reportedParts(CountedDecision.verdictsOf(decision)).flatMap((part) => part.limits)
  }

  /** The subject of each of those limits. */
  static ownersOf(decision: CountedDecision): readonly Subject[] {
    const denial = CountedDecision.findDenial(decision)
    if (denial) return ownersReportedBy(denial)
    const reported = reportedParts(CountedDecision.verdictsOf(decision))
    const { parts } = decision.#request
    return ownersOf(parts.filter((part) => reported.includes(part)))
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

/** The names of the limits that denied. */
function violatedNames(outcome: Outcome, limits: readonly Limit[]): readonly string[] {
  // Most often it is the only limit.
  if (limits.length === 1) return [(limits[0] as Limit).name]
  return limits.filter((_, i) => outcome.limits[i]?.wait !== 0).map(({ name }) => name)
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

function toReason(source: Verdict['source'], retryAfterMs: number | null): DenialReason {
  if (source === 'closed') return 'store-unavailable'
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

/**
 * The limits that a decision reports: only those that the store counted. A local share does not show what is left of the
 * plan.
 */
function toLimitStates(verdict: Verdict): readonly LimitState[] {
  const { source, outcome, step } = verdict
  if (source === 'cache' && outcome) return toCertainStates(verdict, outcome)
  if (source !== 'store' || !outcome) return NO_LIMITS
  return toStatesOfOutcome(outcome, step.limits)
}

/** The limits of a store's outcome. */
function toStatesOfOutcome({ limits }: Outcome, of: readonly Limit[]): readonly LimitState[] {
  // Made with the first state, without a closure: an empty list reserves 17 places at the first push.
  const states = [toLimitState(limits[0] as LimitOutcome, of[0] as Limit)]
  for (let i = 1; i < limits.length; i += 1) {
    states.push(toLimitState(limits[i] as LimitOutcome, of[i] as Limit))
  }
  return states
}

/** Where this process's shares of the limits stand, if it limited alone. */
function toStatesOfShares(verdicts: readonly Verdict[]): readonly LimitState[] {
  return verdicts.flatMap((verdict) => {
    const { source, share, outcome } = verdict
    if (source !== 'local' || share === undefined || !outcome) return NO_LIMITS
    const { limits, at } = outcome
    const of = limitsIn(verdict).map((limit) => toShareOfLimit(limit, share, at / 1000))
    return limits.map((limit, i) => toLimitState(limit, of[i] as Limit))
  })
}

function toShareOfLimit(limit: Limit, share: number, nowMs: number): Limit {
  const compiled = scaleLimit(limit.compiled, share)
  return {
    ...limit,
    quota: shareOfUnits(limit.quota, share),
    capacity: capacityOf(compiled, nowMs),
    compiled,
  }
}

/** A remembered denial reports only numbers that are still certain. */
function toCertainStates(verdict: Verdict, { limits }: Outcome): readonly LimitState[] {
  const of = limitsIn(verdict)
  const states: LimitState[] = []
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as LimitOutcome
    if (limit.remaining !== UNKNOWN) states.push(toLimitState(limit, of[i] as Limit))
  }
  return states
}

/** The limits that a denial reports. If these are all limits of the request, decisions share one array. */
function limitsReportedBy(denial: Verdict): readonly Limit[] {
  return known(denial, limitsIn(denial))
}

/** The subject of each of them. */
function ownersReportedBy(denial: Verdict): readonly Subject[] {
  return known(denial, ownersOf(denial.parts ?? denial.step.parts))
}

function known<T>({ outcome }: Verdict, ofEach: readonly T[]): readonly T[] {
  const limits = outcome?.limits ?? []
  if (!limits.some(({ remaining }) => remaining === UNKNOWN)) return ofEach
  return ofEach.filter((_, i) => limits[i]?.remaining !== UNKNOWN)
}

/** Limits of all steps, in the order of the request's parts. */
function toLimitStatesOfAll({ parts }: Request, verdicts: readonly Verdict[]): readonly LimitState[] {
  if (verdicts.length === 1) return toLimitStates(verdicts[0] as Verdict)
  const ofPart = new Map<Part, readonly LimitState[]>()
  for (const verdict of verdicts) {
    for (const [part, own] of limitsByPart(verdict.step.parts, toLimitStates(verdict))) {
      // If there are several verdicts on a part, the first is the latest.
      if (!ofPart.has(part)) ofPart.set(part, own)
    }
  }
  return parts.flatMap((part) => ofPart.get(part) ?? [])
}

function toLimitState(
  { remaining, reset }: LimitOutcome,
  { name, quota, windowMs, capacity }: Limit,
): LimitState {
  // A store that users wrote can return any number for `remaining`.
  const used = Math.max(capacity - remaining, 0)
  if (windowMs === 0) {
    return { name, quota, quotaUnit: 'concurrent-requests', windowMs, used, remaining, resetMs: 0 }
  }
  return { name, quota, windowMs, used, remaining, resetMs: toMs(reset) }
}

/** The parts whose limits are reported. */
function reportedParts(verdicts: readonly Verdict[]): readonly Part[] {
  return verdicts.flatMap(({ source, step }) => (source === 'store' ? step.parts : []))
}

function limitsIn({ step, parts }: Verdict): readonly Limit[] {
  return parts && parts.length < step.parts.length ? parts.flatMap(({ limits }) => limits) : step.limits
}

/** µs to ms, rounded up so that a client that waits this long is never early. Not negative, even for damaged state. */
export function toMs(us: number): number {
  return Math.max(Math.ceil(us / 1000), 0)
}
