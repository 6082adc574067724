import type { Request } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'
import { CountedDecision } from './counted-decision.js'
import type { Origin } from './origin.js'
import type { Decision } from './decision.js'
import { decideWithoutLimits } from './uncounted-decision.js'

/** Makes the decision of the verdicts on all steps of a request. */
export function decisionOf(request: Request, origin: Origin): Decision {
  const { verdicts } = origin
  const first = verdicts[0] as Verdict
  if (verdicts.length === 1 && isUncounted(first)) return decideWithoutLimits(request, first)
  return new CountedDecision(request, undefined, origin)
}

type Uncounted = Verdict & { readonly source: 'unlimited' | 'blocked' | 'open' | 'closed' }

function isUncounted(verdict: Verdict): verdict is Uncounted {
  const { source } = verdict
  return source === 'unlimited' || source === 'blocked' || source === 'open' || source === 'closed'
}
