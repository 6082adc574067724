import { shareOfUnits } from '../../base/options.js'
import { capacityOf, scaleLimit } from '../../plans/limit/limit-set.js'
import type { Limit } from '../../plans/limit/limit.js'
import type { Subject } from '../../plans/subject.js'
import { type Part, type Request, UNKNOWN, type Verdict, ownersOf } from '../../requests/request.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { type LimitState, type ObservedLimit, NO_LIMITS } from './decision.js'

/**
 * The limits of a request that can deny: the same array for all requests with the same plans. Those that only observe are not
 * reported to clients.
 */
export function denyingLimits({ limits, isLenient }: Request): readonly Limit[] {
  if (!isLenient) return limits
  const known = denyingOf.get(limits) ?? denying(limits)
  denyingOf.set(limits, known)
  return known
}

const denyingOf = new WeakMap<readonly Limit[], readonly Limit[]>()

export function denying(limits: readonly Limit[]): readonly Limit[] {
  return limits.filter(({ observes }) => !observes)
}

/** The subject of each of their limits that can deny. */
export function denyingOwners(parts: readonly Part[]): readonly Subject[] {
  const limits = parts.flatMap((part) => part.limits)
  return ownersOf(parts).filter((_, i) => !limits[i]?.observes)
}

/** Where the limits stand that only observe, in the order of the request's parts. Undefined if the store did not decide. */
export function toObserved(
  { parts }: Request,
  verdicts: readonly Verdict[],
): readonly ObservedLimit[] | undefined {
  const ofPart = new Map<Part, readonly LimitOutcome[]>()
  for (const { source, outcome, step } of verdicts) {
    if (source !== 'store' || !outcome) return undefined
    // If there are several verdicts on a part, the first is the latest.
    for (const [part, own] of limitsByPart(step.parts, outcome.limits))
      if (!ofPart.has(part)) ofPart.set(part, own)
  }
  return parts.flatMap((part) => {
    const outcomes = ofPart.get(part) ?? []
    return outcomes.flatMap((own, i) => {
      const limit = part.limits[i] as Limit
      return limit.observes ? [{ ...toLimitState(own, limit), wouldDeny: own.wouldWait !== undefined }] : []
    })
  })
}

/**
 * The limits that a decision reports: only those that the store counted. A local share does not show what is left of the
 * plan.
 */
export function toLimitStates(verdict: Verdict): readonly LimitState[] {
  const { source, outcome, step } = verdict
  if (source === 'cache' && outcome) return toCertainStates(verdict, outcome)
  if (source !== 'store' || !outcome) return NO_LIMITS
  return toStatesOfOutcome(outcome, step.limits)
}

/** The limits of a store's outcome. */
export function toStatesOfOutcome({ limits }: Outcome, of: readonly Limit[]): readonly LimitState[] {
  if ((of[0] as Limit).observes) return toStatesOfDenying(limits, of)
  // Made with the first state, without a closure: an empty list reserves 17 places at the first push.
  const states = [toLimitState(limits[0] as LimitOutcome, of[0] as Limit)]
  for (let i = 1; i < limits.length; i += 1) {
    if (!(of[i] as Limit).observes) states.push(toLimitState(limits[i] as LimitOutcome, of[i] as Limit))
  }
  return states
}

function toStatesOfDenying(limits: readonly LimitOutcome[], of: readonly Limit[]): readonly LimitState[] {
  return limits.flatMap((limit, i) => {
    const own = of[i] as Limit
    return own.observes ? [] : [toLimitState(limit, own)]
  })
}

/** Where this process's shares of the limits stand, if it limited alone. */
export function toStatesOfShares(verdicts: readonly Verdict[]): readonly LimitState[] {
  return verdicts.flatMap((verdict) => {
    const { source, share, outcome } = verdict
    if (source !== 'local' || share === undefined || !outcome) return NO_LIMITS
    const { limits, at } = outcome
    const of = limitsIn(verdict).map((limit) => toShareOfLimit(limit, share, at / 1000))
    return toStatesOfDenying(limits, of)
  })
}

function toShareOfLimit(limit: Limit, share: number, nowMs: number): Limit {
  const compiled = scaleLimit(limit.compiled, share)
  return {
    ...limit,
    quota: shareOfUnits(limit.quota, share),
    capacity: capacityOf(compiled, nowMs),
    compiled,
    // A share says nothing of the units beyond the plan's quota.
    overage: undefined,
  }
}

/** A remembered denial reports only numbers that are still certain. */
function toCertainStates(verdict: Verdict, { limits }: Outcome): readonly LimitState[] {
  const of = limitsIn(verdict)
  const states: LimitState[] = []
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as LimitOutcome
    const own = of[i] as Limit
    if (limit.remaining !== UNKNOWN && !own.observes) states.push(toLimitState(limit, own))
  }
  return states
}

/** The limits that a denial reports. If these are all limits of the request, decisions share one array. */
export function limitsReportedBy(denial: Verdict): readonly Limit[] {
  const limits = known(denial, limitsIn(denial))
  if (!denial.step.isLenient) return limits
  return limits === denial.step.limits ? denyingLimits(denial.step) : denying(limits)
}

/** The subject of each of them. */
export function ownersReportedBy(denial: Verdict): readonly Subject[] {
  const parts = denial.parts ?? denial.step.parts
  const limits = parts.flatMap((part) => part.limits)
  return known(denial, ownersOf(parts)).filter((_, i) => !known(denial, limits)[i]?.observes)
}

function known<T>({ outcome }: Verdict, ofEach: readonly T[]): readonly T[] {
  const limits = outcome?.limits ?? []
  if (!limits.some(({ remaining }) => remaining === UNKNOWN)) return ofEach
  return ofEach.filter((_, i) => limits[i]?.remaining !== UNKNOWN)
}

/** Limits of all steps, in the order of the request's parts. */
export function toLimitStatesOfAll<State extends LimitState>(
  { parts }: Request,
  verdicts: readonly Verdict[],
  statesOf: (verdict: Verdict) => readonly State[],
): readonly State[] {
  if (verdicts.length === 1) return statesOf(verdicts[0] as Verdict)
  const ofPart = new Map<Part, readonly State[]>()
  for (const verdict of verdicts) {
    for (const [part, own] of limitsByPart(verdict.step.parts, statesOf(verdict))) {
      // If there are several verdicts on a part, the first is the latest.
      if (!ofPart.has(part)) ofPart.set(part, own)
    }
  }
  return parts.flatMap((part) => ofPart.get(part) ?? [])
}

export function toLimitState(
  { remaining, reset, over, toppedUp = 0, shortQuota }: LimitOutcome,
  limit: Limit,
): LimitState {
  const { name, windowMs, overage } = limit
  const { quota, capacity } = shortQuota === undefined ? limit : { quota: shortQuota, capacity: shortQuota }
  // A store that users wrote can return any number for `remaining`.
  // Units that are held can be of a top-up.
  const used = Math.min(Math.max(capacity + toppedUp - remaining, 0), capacity)
  if (windowMs === 0) {
    return { name, quota, quotaUnit: 'concurrent-requests', windowMs, used, remaining, resetMs: 0 }
  }
  const state = { name, quota, windowMs, used, remaining, resetMs: toMs(reset) }
  const whole = overage ? { ...state, over: over ?? 0 } : state
  return toppedUp > 0 ? { ...whole, toppedUp } : whole
}

/** The parts whose limits are reported. */
export function reportedParts(verdicts: readonly Verdict[]): readonly Part[] {
  return verdicts.flatMap(({ source, step }) => (source === 'store' ? step.parts : []))
}

export function limitsIn({ step, parts }: Verdict): readonly Limit[] {
  return parts && parts.length < step.parts.length ? parts.flatMap(({ limits }) => limits) : step.limits
}

/** µs to ms, rounded up so that a client that waits this long is never early. Not negative, even for damaged state. */
export function toMs(us: number): number {
  return Math.max(Math.ceil(us / 1000), 0)
}
