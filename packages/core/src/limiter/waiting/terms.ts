import type { WaitTerms } from '../../plans/limit/limit-set.js'
import type { Request } from '../../requests/request.js'

/**
 * On which terms a request waits; undefined if it does not. Of several parts the strictest. A request in several steps
 * never waits: its places would have different times.
 */
export function termsOf({ parts, steps, hold }: Request): WaitTerms | undefined {
  if (steps || hold) return undefined
  let terms: WaitTerms | undefined
  for (const { set } of parts) {
    if (set.wait) terms = terms ? strictest(terms, set.wait) : set.wait
  }
  return terms
}

function strictest(a: WaitTerms, b: WaitTerms): WaitTerms {
  return {
    delayUs: Math.min(a.delayUs, b.delayUs),
    slackUs: Math.min(a.slackUs, b.slackUs),
    most: Math.min(a.most, b.most),
  }
}

/** The key of the line that a request waits in. */
export function lineOf({ parts }: Request): string {
  return parts.find(({ set }) => set.wait)?.key ?? ''
}
