import type { Decision } from '../../limiter/decision/decision.js'
import type { HttpAnswer } from '../adapter.js'
import { toPolicyName } from '../headers.js'
import { detailOf } from './detail.js'
import type { Retry } from './retry.js'

/** The body of a denial: problem details (RFC 9457) with the problem types of the RateLimit fields draft. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: 403 | 429 | 503
  /** A sentence for people. */
  readonly detail: string
  readonly 'violated-policies'?: readonly string[]
  /** The reason as a fixed text that programs can compare: these values never change. */
  readonly code:
    | 'rate_limit_exceeded'
    | 'cost_exceeds_quota'
    | 'rate_limit_unavailable'
    | 'blocked'
    | 'overloaded'
}

/** The status of a denial: 429 by a limit, 503 when the store could not answer or the process is overloaded, 403 for the block list. */
export function statusOf({ reason }: Decision): Problem['status'] {
  if (reason === 'blocked') return 403
  return reason === 'store-unavailable' || reason === 'overloaded' ? 503 : 429
}

const TYPES = 'https://iana.org/assignments/http-problem-types#'
const REDUCED_CAPACITY = {
  type: `${TYPES}temporary-reduced-capacity`,
  title: 'Temporary Reduced Capacity',
  status: 503,
} as const

/**
 * The problem of a denial.
 *
 * @param retry    undefined when waiting would not help
 * @param namePlan whether the text may contain the name of the plan
 */
export function problemOf(decision: Decision, retry: Retry | undefined, namePlan = true): Problem {
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
        ...REDUCED_CAPACITY,
        detail: 'The service cannot check rate limits at the moment. Try again shortly.',
        code: 'rate_limit_unavailable',
      }
    case 'overloaded':
      return {
        ...REDUCED_CAPACITY,
        detail: 'The service has too much to do at the moment. Try again shortly.',
        code: 'overloaded',
      }
    default:
      return {
        type: `${TYPES}quota-exceeded`,
        title: 'Quota Exceeded',
        status: 429,
        detail: detailOf(decision, retry?.waitMs, namePlan),
        'violated-policies': decision.violated.map(toPolicyName),
        code: retry ? 'rate_limit_exceeded' : 'cost_exceeds_quota',
      }
  }
}

/** A denial's status, media type and body. */
export type Rendered = Omit<HttpAnswer, 'decision'>

/** A media type in which problems can be rendered. */
export type ProblemType = (typeof OFFERED)[number]

const OFFERED = ['application/problem+json', 'application/json', 'text/plain', 'text/html'] as const

/** Of the media types of problems, the one that an Accept header prefers. */
export function mediaTypeFor(accept: string | undefined): ProblemType {
  return negotiate(accept, OFFERED)
}

/** Renders the problem as JSON or as plain text. */
export function renderProblem(problem: Problem, type: ProblemType): Rendered {
  const { status, title, detail } = problem
  if (type === 'application/problem+json' || type === 'application/json') {
    return { status, contentType: type, body: JSON.stringify(problem) }
  }
  return { status, contentType: PLAIN, body: `${title}. ${detail}\n` }
}

/** Renders a body made by the user's `body` function: a string as plain text, anything else as JSON. */
export function renderBody(status: number, body: unknown): Rendered {
  if (typeof body === 'string') return { status, contentType: PLAIN, body }
  return { status, contentType: 'application/json', body: JSON.stringify(body) ?? 'null' }
}

const PLAIN = 'text/plain; charset=utf-8'

const LONGEST_READ = 1000

/**
 * Picks the offered media type that an Accept header prefers. Among equals the first wins. If none is acceptable the
 * first is used too, since a denial must be answered with something.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.accept
 */
function negotiate<Type extends string>(
  accept: string | undefined,
  offered: readonly [Type, ...Type[]],
): Type {
  if (!accept || accept === '*/*') return offered[0]
  const ranges = accept.slice(0, LONGEST_READ).split(',').map(readRange)
  let [best] = offered
  let most = 0
  for (const type of offered) {
    const weight = weigh(type, ranges)
    if (weight > most) {
      best = type
      most = weight
    }
  }
  return best
}

interface Range {
  readonly type: string
  readonly q: number
}

function readRange(text: string): Range {
  const [type = '', ...params] = text.split(';').map((part) => part.trim().toLowerCase())
  const q = params.find((param) => param.startsWith('q='))
  const weight = q === undefined ? 1 : Number(q.slice(2))
  return { type, q: weight >= 0 && weight <= 1 ? weight : 0 }
}

/** The quality value of a type, from 0 to 1. The most specific range that matches the type decides. */
function weigh(type: string, ranges: readonly Range[]): number {
  const [group] = type.split('/')
  for (const range of [type, `${group}/*`, '*/*']) {
    const found = ranges.find((given) => given.type === range)
    if (found) return found.q
  }
  return 0
}
