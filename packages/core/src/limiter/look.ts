import { type MaybePromise } from '../base/promises.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import { type Request, type Verdict, errorIn } from '../requests/request.js'
import type { Decision, LimitState } from './decision/decision.js'
import { toLimitStates, toLimitStatesOfAll } from './decision/limit-states.js'

/** Where a subject stands, for people. */
export interface Look {
  readonly decision: Decision
  /** All limits, where a decision has only those that denied in one step, and has none left while the subject is blocked. */
  readonly limits: readonly SeenLimit[]
  /** When it was looked, in ms since 1970 by the clock that counts. */
  readonly atMs: number
  /** Set while an override or a scaled plan is in force. `until` is undefined if it is the plan that is scaled. */
  readonly override?: { readonly until: Date | undefined }
}

export interface SeenLimit extends HeldLimit {
  /** Set for a limit by the calendar. */
  readonly timeZone: string | undefined
}

/** A limit, and what of it is taken in advance. */
export interface HeldLimit extends LimitState {
  /** Units of `used` that no request has used yet: on lease, reserved, or of requests that wait in line. Set if there are any. */
  readonly held?: number
}

/** What is needed to look. */
export interface LookHost {
  peek(step: Request): MaybePromise<Verdict>
  decide(request: Request, verdicts: readonly Verdict[]): Decision
}

/**
 * Asks the store for all steps of a request that has limits.
 *
 * @throws {StoreError} when it does not answer
 */
export async function look(request: Request, host: LookHost): Promise<Omit<Look, 'override'>> {
  const verdicts = await askAll(request, host)
  const decision = host.decide(request, verdicts)
  const shown = decision.block ? withoutBlocks(request) : request
  const shownVerdicts = shown === request ? verdicts : await askAll(shown, host)
  const states = toLimitStatesOfAll(shown, shownVerdicts, toHeldLimits)
  // A subject with a billing day has a time zone of its own, which its set knows.
  const timeZones = shown.parts.flatMap(({ limits, set }) =>
    limits.flatMap(({ observes }, i) => (observes ? [] : [set.limits[i]?.timeZone])),
  )
  return {
    decision,
    limits: states.map((state, i) => ({ ...state, timeZone: timeZones[i] })),
    atMs: Math.floor((shownVerdicts[0]?.outcome?.at ?? Date.now() * 1000) / 1000),
  }
}

function toHeldLimits(verdict: Verdict): readonly HeldLimit[] {
  const { outcome, step } = verdict
  const denying = outcome?.limits.filter((_, i) => !step.limits[i]?.observes)
  return toLimitStates(verdict).map((state, i) => {
    const held = denying?.[i]?.leased
    return held ? { ...state, held } : state
  })
}

async function askAll(request: Request, { peek }: LookHost): Promise<readonly Verdict[]> {
  const verdicts = await Promise.all((request.steps ?? [request]).map((step) => peek(step)))
  const failed = errorIn(verdicts)
  if (failed) throw failed
  return verdicts
}

/** The same limits, which no denials block. A set is made once: stores prepare each. */
function withoutBlocks({ steps, ...request }: Request): Request {
  const parts = request.parts.map((part) => ({ ...part, set: withoutBlock(part.set) }))
  if (!steps) return { ...request, parts }
  const of = new Map(request.parts.map((part, i) => [part, parts[i] as (typeof parts)[number]]))
  const stepsWithout = steps.map((step) => ({
    ...step,
    parts: step.parts.map((part) => of.get(part) ?? part),
  }))
  return { ...request, parts, steps: stepsWithout }
}

const without = new WeakMap<LimitSet, LimitSet>()

function withoutBlock(set: LimitSet): LimitSet {
  if (!set.blockAfter) return set
  const known = without.get(set)
  if (known) return known
  const made = { ...set, blockAfter: undefined }
  without.set(set, made)
  return made
}
