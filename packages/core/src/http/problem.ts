import type { Decision } from '../decision.js'
import { seconds } from './headers.js'

/** An answer of core's own: what a denied client gets. */
export interface Problem {
  readonly status: 429 | 503
  readonly contentType: string
  /** In whole seconds; undefined when waiting would not help. */
  readonly retryAfter: number | undefined
  readonly body: string
}

const TYPES = 'https://iana.org/assignments/http-problem-types#'

/**
 * The problem details (RFC 9457) of a denial, with the problem types of the RateLimit fields draft: 429 when a
 * limit denied it, 503 when the store could not answer.
 */
export function problemOf(decision: Decision): Problem {
  return decision.reason === 'store-unavailable' ? reducedCapacity(decision) : quotaExceeded(decision)
}

function quotaExceeded(decision: Decision): Problem {
  const retryAfter = retryAfterOf(decision)
  return problem(429, retryAfter, {
    type: `${TYPES}quota-exceeded`,
    title: 'Quota Exceeded',
    status: 429,
    detail: detailOf(decision, retryAfter),
    'violated-policies': decision.violated,
    code: 'rate_limit_exceeded',
  })
}

function reducedCapacity(decision: Decision): Problem {
  return problem(503, retryAfterOf(decision), {
    type: `${TYPES}temporary-reduced-capacity`,
    title: 'Temporary Reduced Capacity',
    status: 503,
    detail: 'The service cannot check rate limits at the moment. Try again shortly.',
    code: 'rate_limit_unavailable',
  })
}

function problem(status: Problem['status'], retryAfter: number | undefined, details: object): Problem {
  return { status, contentType: 'application/problem+json', retryAfter, body: JSON.stringify(details) }
}

function retryAfterOf({ retryAfterMs }: Decision): number | undefined {
  return retryAfterMs === null ? undefined : Math.max(seconds(retryAfterMs), 1)
}

function detailOf({ limits, violated, cost }: Decision, retryAfter: number | undefined): string {
  const names = limits
    .filter(({ name }) => violated.includes(name))
    .map(({ name, quota, windowMs }) => `${name} (${quota} per ${windowMs / 1000} s)`)
    .join(', ')
  if (retryAfter === undefined)
    return `This request costs ${cost} units, more than the limit allows at once: ${names}.`
  return `Too many requests for the limit: ${names}. Try again in ${retryAfter} s.`
}
