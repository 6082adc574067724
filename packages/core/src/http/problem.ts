import type { Decision } from '../limiter/decision.js'
import { limitsOf } from '../limiter/settlement.js'
import { negotiate } from './accept.js'
import type { HttpAnswer } from './adapter.js'
import { policyName, seconds } from './headers.js'

/** What a denied client is told: problem details (RFC 9457) with the problem types of the RateLimit fields draft. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: 403 | 429 | 503
  readonly detail: string
  readonly 'violated-policies'?: readonly string[]
  readonly code: 'rate_limit_exceeded' | 'rate_limit_unavailable' | 'blocked'
}

const TYPES = 'https://iana.org/assignments/http-problem-types#'

/**
 * The problem of a denial: 429 when a limit denied it, 503 when the store could not answer, 403 for the block list.
 *
 * @param retryAfter in whole seconds; undefined when waiting would not help
 */
export function problemOf(decision: Decision, retryAfter: number | undefined): Problem {
  switch (decision.reason) {
    case 'blocked':
      return {
        type: 'about:blank',
        title: 'Forbidden',
        status: 403,
        detail: 'This client is blocked.',
        code: 'blocked',
      }
    case 'store-unavailable':
      return {
        type: `${TYPES}temporary-reduced-capacity`,
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'The service cannot check rate limits at the moment. Try again shortly.',
        code: 'rate_limit_unavailable',
      }
    default:
      return {
        type: `${TYPES}quota-exceeded`,
        title: 'Quota Exceeded',
        status: 429,
        detail: detailOf(decision, retryAfter),
        'violated-policies': decision.violated.map(policyName),
        code: 'rate_limit_exceeded',
      }
  }
}

/**
 * When a denied client should come back, in whole seconds, at least 1; undefined when waiting would not help.
 *
 * @param jitterMs at most so much later, at random, so that not all come back at once
 */
export function retryAfterOf({ retryAfterMs }: Decision, jitterMs: number): number | undefined {
  if (retryAfterMs === null) return undefined
  return Math.max(seconds(retryAfterMs + Math.random() * jitterMs), 1)
}

/** The problem in the words that the client accepts: JSON, or plain text for people. */
export function renderProblem(problem: Problem, accept: string | undefined): Omit<HttpAnswer, 'decision'> {
  const { status, title, detail } = problem
  const type = negotiate(accept, ['application/problem+json', 'application/json', 'text/plain', 'text/html'])
  if (type === 'application/problem+json' || type === 'application/json') {
    return { status, contentType: type, body: JSON.stringify(problem) }
  }
  return { status, contentType: PLAIN, body: `${title}. ${detail}\n` }
}

/** What a user has made in place of our body: text, or anything else as JSON. */
export function renderBody(status: number, body: unknown): Omit<HttpAnswer, 'decision'> {
  if (typeof body === 'string') return { status, contentType: PLAIN, body }
  return { status, contentType: 'application/json', body: JSON.stringify(body) ?? 'null' }
}

const PLAIN = 'text/plain; charset=utf-8'

/** In the largest unit that it is a whole number of. */
function lengthOf(windowMs: number): string {
  const [unit, ms] = LENGTHS.find(([, length]) => windowMs % length === 0) ?? ['ms', 1]
  return `${windowMs / ms} ${unit}`
}

/** Minutes and hours are left as seconds, as `Retry-After` is. */
const LENGTHS: readonly [string, number][] = [
  ['d', 86_400_000],
  ['s', 1000],
]

function detailOf(decision: Decision, retryAfter: number | undefined): string {
  const { violated, cost } = decision
  const names = (limitsOf(decision) ?? decision.limits)
    .filter(({ name }) => violated.includes(name))
    .map(({ name, quota, windowMs }) => `${policyName(name)} (${quota} per ${lengthOf(windowMs)})`)
    .join(', ')
  if (retryAfter === undefined)
    return `This request costs ${cost} units, more than the limit allows at once: ${names}.`
  return `Too many requests for the limit: ${names}. Try again in ${retryAfter} s.`
}
