import type { Subject } from '../plans/subject.js'
import { NO_LIMITS, NONE, type Decision } from './decision.js'

/** The longest that a request that was shed should stay away, in whole seconds. */
const LONGEST_AFTER_SHEDDING = 3

/** The decision for a request that is refused since this process is overloaded. No limit was asked. */
export function decideShed(subject: Subject, plan: string): Decision {
  return {
    allowed: false,
    subject,
    plan,
    cost: 0,
    limits: NO_LIMITS,
    violated: NONE,
    // At random, so that those who are refused together do not come back together.
    retryAfterMs: 1000 * (1 + Math.floor(LONGEST_AFTER_SHEDDING * Math.random())),
    reason: 'overloaded',
    source: 'shed',
  }
}
