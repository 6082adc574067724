import type { Decision } from '../../src/index.js'
import { CountedDecision } from '../../src/limiter/decision/counted-decision.js'

/** The decision that a lease gives to a request, made of one that the store gave to the same. */
export function asServedFromLease(decision: Decision): Decision {
  const step = CountedDecision.requestOf(decision as CountedDecision)
  const verdict = { source: 'lease', allowed: true, step } as const
  return new CountedDecision(step, undefined, { isPeek: false, by: {}, verdicts: [verdict] })
}
