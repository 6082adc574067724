import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import { CountedDecision, type Origin } from './counted-decision.js'
import { decideWithoutLimits, type Decision } from './decision.js'

/** The decision that verdicts make. */
export function decisionOf(request: Request, origin: Origin): Decision {
  const { verdicts } = origin
  const { source, allowed } = verdicts[0] as Verdict
  const isUncounted =
    source === 'unlimited' || source === 'blocked' || source === 'open' || source === 'closed'
  if (verdicts.length === 1 && isUncounted) return decideWithoutLimits(request, { source, allowed })
  return new CountedDecision(request, undefined, origin)
}
