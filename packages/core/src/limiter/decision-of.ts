import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import { CountedDecision } from './counted-decision.js'
import type { Origin } from './origin.js'
import type { Decision } from './decision.js'
import { decideWithoutLimits } from './uncounted-decision.js'

/** Makes the decision of the verdicts on all steps of a request. */
export function decisionOf(request: Request, origin: Origin): Decision {
  const { verdicts } = origin
  const { source, allowed } = verdicts[0] as Verdict
  if (verdicts.length > 1 || isCounted(source)) return new CountedDecision(request, undefined, origin)
  return decideWithoutLimits(request, { source, allowed })
}

type Counted = 'store' | 'place' | 'lease' | 'cache' | 'local'

function isCounted(source: Verdict['source']): source is Counted {
  return ['store', 'place', 'lease', 'cache', 'local'].includes(source)
}
