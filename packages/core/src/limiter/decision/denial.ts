import { NEVER } from '../../algorithms/implementation.js'
import type { Limit } from '../../plans/limit/limit.js'
import type { Subject } from '../../plans/subject.js'
import type { Request } from '../../requests/request.js'
import { CountedDecision } from './counted-decision.js'
import { toMs } from './limit-states.js'
import type { Decision, LimitState } from './decision.js'
import { limitsByPart } from '../../stores/outcome-check.js'

/** A limit that denied a request, with everything that the text of the denial needs. */
export interface DenyingLimit extends Pick<Limit, 'name' | 'quota' | 'windowMs' | 'capacity'> {
  /** Set if the windows of the limit follow the calendar. */
  readonly timeZone?: string | undefined
  /** As in Part. */
  readonly planName?: string | undefined
  readonly place?: string | undefined
  /** Whom it limits; undefined if that is not known. */
  readonly owner?: Subject | undefined
  /** ms until the cost fits; null when it never can. */
  readonly waitMs: number | null
}

export interface Denial {
  readonly limits: readonly DenyingLimit[]
  /** When it was decided, in whole ms since 1970, by the clock of the store or process that decided; undefined if unknown. */
  readonly atMs: number | undefined
  /** Whether this process limited alone, to its share of the limits. Then the client may not have used up its plan. */
  readonly isOfShare: boolean
}

/**
 * The limits that denied a request. A decision that was copied or made by hand has only its public fields, so less is
 * known.
 */
export function findDenial(decision: Decision): Denial {
  const verdict = CountedDecision.is(decision) ? CountedDecision.findDenial(decision) : undefined
  if (!verdict?.outcome) return { limits: limitsOfCopy(decision), atMs: undefined, isOfShare: false }
  const { at, limits } = verdict.outcome
  const denying: DenyingLimit[] = []
  for (const [part, own] of limitsByPart(verdict.parts ?? verdict.step.parts, limits)) {
    for (const [i, limit] of part.limits.entries()) {
      const wait = own[i]?.wait ?? 0
      if (wait === 0) continue
      const { name, quota, windowMs, capacity } = limit
      const { timeZone } = part.set.limits[i] ?? limit.compiled
      const { planName, place, subject: owner } = part
      const waitMs = wait === NEVER ? null : toMs(wait)
      denying.push({ name, quota, windowMs, capacity, timeZone, planName, place, owner, waitMs })
    }
  }
  return { limits: denying, atMs: Math.floor(at / 1000), isOfShare: (verdict.share ?? 1) < 1 }
}

/** The limit that keeps a request waiting: of several that denied it, the one that is back last. */
export interface LastBack {
  readonly name: string
  /** Whom it limits, if that is not the subject that pays. */
  readonly owner?: Subject | undefined
}

export function lastBack(decision: Decision): LastBack | undefined {
  const [name, second] = decision.violated
  if (name === undefined) return undefined
  const { subject, subjects } = CountedDecision.is(decision) ? CountedDecision.requestOf(decision) : COPY
  if (second === undefined && !subjects) return { name }
  const waitOf = ({ waitMs }: DenyingLimit): number => waitMs ?? Number.MAX_VALUE
  const [last = { name, owner: subject }] = findDenial(decision).limits.toSorted(
    (x, y) => waitOf(y) - waitOf(x),
  )
  return { name: last.name, owner: last.owner === subject ? undefined : last.owner }
}

const COPY: Partial<Request> = {}

function limitsOfCopy({ limits, violated, retryAfterMs: waitMs }: Decision): DenyingLimit[] {
  return limits
    .filter(({ name }) => violated.includes(name))
    .map(({ name, quota, windowMs, used, remaining }: LimitState) => {
      const capacity = used + remaining
      return { name, quota, windowMs, capacity, waitMs }
    })
}
