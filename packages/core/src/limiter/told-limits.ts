import type { Verdict } from '../requests/verdict.js'
import { NO_LIMITS, type LimitState } from './decision.js'
import type { Limit } from '../plans/limit.js'
import type { Part, Request } from '../requests/request.js'
import type { LimitOutcome } from '../stores/contract.js'

/**
 * The limits that a decision reports. Only those the store counted: a local share does not show what is left of the
 * plan.
 */
export function statesOf(verdict: Verdict): readonly LimitState[] {
  const { source, outcome, step } = verdict
  if (source !== 'store' || !outcome) return NO_LIMITS
  const { limits } = outcome
  // The common case, without a closure for each decision.
  if (limits.length === 1) return [stateOf(limits[0] as LimitOutcome, step.limits[0] as Limit)]
  return limits.map((limit, i) => stateOf(limit, step.limits[i] as Limit))
}

/** Limits of all steps, in the order of the request's parts. */
export function statesOfAll({ parts }: Request, verdicts: readonly Verdict[]): readonly LimitState[] {
  if (verdicts.length === 1) return statesOf(verdicts[0] as Verdict)
  const ofPart = new Map<Part, LimitState[]>()
  for (const verdict of verdicts) {
    const states = statesOf(verdict)
    let next = 0
    for (const part of verdict.step.parts) ofPart.set(part, states.slice(next, (next += part.limits.length)))
  }
  return parts.flatMap((part) => ofPart.get(part) ?? [])
}

function stateOf({ remaining, reset }: LimitOutcome, { name, quota, windowMs, capacity }: Limit): LimitState {
  // A store that users wrote can return any number for `remaining`.
  const used = Math.max(capacity - remaining, 0)
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
