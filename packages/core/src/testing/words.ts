import { isOptions } from '../base/options.js'
import { show } from '../base/show.js'
import type { Decision, LimitState } from '../limiter/decision/decision.js'

/** Whether it is a decision. A promise of one is none: the test lacks an `await`. */
export function isDecision(given: unknown): given is Decision {
  const { allowed, limits, violated } = (given ?? {}) as Partial<Decision>
  return typeof allowed === 'boolean' && Array.isArray(limits) && Array.isArray(violated)
}

/** What stands in place of a decision, in words. */
export function otherThanDecision(given: unknown): string {
  const what = typeof (given as Partial<Promise<unknown>> | null | undefined)?.then === 'function'
  if (what)
    return 'got a promise, expected a decision; write await: expectAllowed(await limiter.consume(...))'
  return `got ${isOptions(given) ? 'another object' : show(given)}, expected a decision: what limiter.consume returned`
}

/** A decision in words: who asked, what was decided, and a line for each of its limits. */
export function wordsOf(decision: Decision): string {
  const { subject, plan, cost, source, limits, localLimits = [] } = decision
  const who = `${show(String(subject.id))} (plan ${show(plan)}, cost ${cost})`
  const lines = [
    `${who} was ${decision.allowed ? 'allowed' : 'denied'} by '${source}'${decision.allowed ? '' : whyOf(decision)}`,
    ...limits.map(limitIn),
    ...localLimits.map((limit) => `${limitIn(limit)} (the share of this process)`),
  ]
  if (lines.length === 1) lines.push('the decision lists no limits')
  return lines.join('\n  ')
}

function whyOf({ reason, violated, retryAfterMs }: Decision): string {
  const by = violated.length > 0 ? ` (${violated.join(', ')})` : ''
  return `: ${reason}${by}, ${retryAfterMs === null ? 'waiting does not help' : `fits in ${retryAfterMs} ms`}`
}

function limitIn({ name, quota, used, remaining, resetMs }: LimitState): string {
  const next = resetMs > 0 ? `, one more in ${resetMs} ms` : ''
  return `${name}: quota ${quota}, used ${used}, remaining ${remaining}${next}`
}
