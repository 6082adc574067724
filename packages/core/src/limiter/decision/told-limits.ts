import { UNKNOWN, type Verdict } from '../../requests/verdict.js'
import { NO_LIMITS, type LimitState } from './decision.js'
import { shareOfUnits } from '../../base/options.js'
import type { Limit } from '../../plans/limit/limit.js'
import { capacityOf, scaleLimit } from '../../plans/limit/limit-set.js'
import type { Subject } from '../../plans/subject.js'
import { ownersOf, type Part, type Request } from '../../requests/request.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'

/**
 * The limits that a decision reports. Only those the store counted: a local share does not show what is left of the
 * plan.
 */
export function statesOf(verdict: Verdict): readonly LimitState[] {
  const { source, outcome, step } = verdict
  if (source === 'cache' && outcome) return statesOfCache(verdict, outcome)
  if (source !== 'store' || !outcome) return NO_LIMITS
  return statesOfOutcome(outcome, step.limits)
}

/** The limits of a store's outcome. */
export function statesOfOutcome({ limits }: Outcome, of: readonly Limit[]): readonly LimitState[] {
  // The common case, without a closure for each decision.
  if (limits.length === 1) return [stateOf(limits[0] as LimitOutcome, of[0] as Limit)]
  return limits.map((limit, i) => stateOf(limit, of[i] as Limit))
}

/** What this process counted by itself: where its shares of the limits stand. */
export function statesOfShares(verdicts: readonly Verdict[]): readonly LimitState[] {
  return verdicts.flatMap((verdict) => {
    const { source, share, outcome } = verdict
    if (source !== 'local' || share === undefined || !outcome) return NO_LIMITS
    const { limits, at } = outcome
    const of = limitsIn(verdict).map((limit) => shareOfLimit(limit, share, at / 1000))
    return limits.map((limit, i) => stateOf(limit, of[i] as Limit))
  })
}

function shareOfLimit(limit: Limit, share: number, nowMs: number): Limit {
  const compiled = scaleLimit(limit.compiled, share)
  return {
    ...limit,
    quota: shareOfUnits(limit.quota, share),
    capacity: capacityOf(compiled, nowMs),
    compiled,
  }
}

/** A remembered denial reports only numbers that are still certain. */
function statesOfCache(verdict: Verdict, { limits }: Outcome): readonly LimitState[] {
  const of = limitsIn(verdict)
  const states: LimitState[] = []
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as LimitOutcome
    if (limit.remaining !== UNKNOWN) states.push(stateOf(limit, of[i] as Limit))
  }
  return states
}

/** The limits that the decision reports of a denial: the same array for all with the same limits, if these are all. */
export function limitsToldBy(denial: Verdict): readonly Limit[] {
  return known(denial, limitsIn(denial))
}

/** The subject of each of them. */
export function ownersToldBy(denial: Verdict): readonly Subject[] {
  return known(denial, ownersOf(denial.parts ?? denial.step.parts))
}

function known<T>({ outcome }: Verdict, ofEach: readonly T[]): readonly T[] {
  const limits = outcome?.limits ?? []
  if (!limits.some(({ remaining }) => remaining === UNKNOWN)) return ofEach
  return ofEach.filter((_, i) => limits[i]?.remaining !== UNKNOWN)
}

/** Limits of all steps, in the order of the request's parts. */
export function statesOfAll({ parts }: Request, verdicts: readonly Verdict[]): readonly LimitState[] {
  if (verdicts.length === 1) return statesOf(verdicts[0] as Verdict)
  const ofPart = new Map<Part, LimitState[]>()
  for (const verdict of verdicts) {
    const states = statesOf(verdict)
    let next = 0
    for (const part of verdict.step.parts) {
      const own = states.slice(next, (next += part.limits.length))
      // Of several verdicts on a part the first is the latest.
      if (!ofPart.has(part)) ofPart.set(part, own)
    }
  }
  return parts.flatMap((part) => ofPart.get(part) ?? [])
}

function stateOf({ remaining, reset }: LimitOutcome, { name, quota, windowMs, capacity }: Limit): LimitState {
  // A store that users wrote can return any number for `remaining`.
  const used = Math.max(capacity - remaining, 0)
  if (windowMs === 0) {
    return { name, quota, quotaUnit: 'concurrent-requests', windowMs, used, remaining, resetMs: 0 }
  }
  return { name, quota, windowMs, used, remaining, resetMs: toMs(reset) }
}

/** The parts whose limits are reported. */
export function toldParts(verdicts: readonly Verdict[]): readonly Part[] {
  return verdicts.flatMap(({ source, step }) => (source === 'store' ? step.parts : []))
}

export function limitsIn({ step, parts }: Verdict): readonly Limit[] {
  return parts && parts.length < step.parts.length ? parts.flatMap(({ limits }) => limits) : step.limits
}

/** µs to ms, rounded up so that a client that waits this long is never early. Not negative, even for damaged state. */
export function toMs(us: number): number {
  return Math.max(Math.ceil(us / 1000), 0)
}
