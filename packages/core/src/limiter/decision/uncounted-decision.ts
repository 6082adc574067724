import type { Subject } from '../../plans/subject.js'
import type { Request, Verdict } from '../../requests/request.js'
import type { BlockInForce } from '../../requests/rule-lookup.js'
import {
  NO_LIMITS,
  NONE,
  type Block,
  RETRY_AFTER_FAILURE_MS,
  type Decision,
  type DecisionSource,
  type DenialReason,
  type LimitState,
} from './decision.js'

type Uncounted = Exclude<Verdict['source'], 'store' | 'place' | 'cache' | 'lease' | 'local'>

/** A decision without counted limits: the plan has none, or the failure policy decided without counting. */
export function decideWithoutLimits(
  { subject, plan, cost, block }: Request,
  verdict: Pick<Verdict, 'allowed'> & { readonly source: Uncounted },
): Decision {
  const decision = new UncountedDecision(subject, plan.name, cost, verdict)
  if (plan.isOverridden) decision.override = true
  if (verdict.allowed) return decision
  const { source } = verdict
  const isBlocked = source === 'blocked' || source === 'rule'
  decision.retryAfterMs = isBlocked ? (block?.endsInMs ?? null) : RETRY_AFTER_FAILURE_MS
  decision.reason = isBlocked ? 'blocked' : 'store-unavailable'
  if (block) decision.block = toShown(block)
  return decision
}

function toShown({ of, until, reason }: BlockInForce): Block {
  return reason === undefined ? { of, until } : { of, until, reason }
}

/** The decision for a subject on the block list, which is checked before any plan. */
export function decideBlocked(subject: Subject): Decision {
  const decision = new UncountedDecision(subject, subject.plan ?? '', 0, { allowed: false, source: 'list' })
  decision.retryAfterMs = null
  decision.reason = 'blocked'
  return decision
}

interface Answered {
  readonly allowed: boolean
  readonly source: DecisionSource
}

class UncountedDecision implements Decision {
  declare readonly allowed: boolean
  declare readonly subject: Subject
  declare readonly plan: string
  declare readonly cost: number
  declare readonly limits: readonly LimitState[]
  declare readonly violated: readonly string[]
  declare retryAfterMs: number | null
  declare readonly source: DecisionSource
  declare reason?: DenialReason
  declare block?: Block
  declare override?: true

  constructor(subject: Subject, plan: string, cost: number, { allowed, source }: Answered) {
    this.allowed = allowed
    this.subject = subject
    this.plan = plan
    this.cost = cost
    this.limits = NO_LIMITS
    this.violated = NONE
    this.retryAfterMs = 0
    this.source = source
  }

  release(): boolean {
    return false
  }
}

/** The longest `Retry-After` of a request that was shed, in whole seconds. */
const LONGEST_AFTER_SHEDDING = 3

/** The decision for a request that is refused because this process is overloaded. No limit was asked. */
export function decideShed(subject: Subject, plan: string): Decision {
  const decision = new UncountedDecision(subject, plan, 0, { allowed: false, source: 'shed' })
  // At random, so that clients that are refused together do not come back together.
  decision.retryAfterMs = 1000 * (1 + Math.floor(LONGEST_AFTER_SHEDDING * Math.random()))
  decision.reason = 'overloaded'
  return decision
}
