import { ConfigError } from '../../base/errors.js'
import { needBoolean, needWhole } from '../../base/options.js'
import type { Decision } from '../../limiter/decision/decision.js'
import type { HttpDenial } from '../adapter.js'
import { toPolicyName, toSeconds, type HeaderAccess } from '../headers.js'
import type { DenialReferences } from './denial-references.js'
import { detailFor, untilFor } from './detail.js'

/** How denials are answered. */
export interface DenialOptions {
  /**
   * Adds a random time of up to this many ms to `Retry-After`, so that not all clients return at once. If
   * `maxRetryAfterMs` shortens the wait, the random time is subtracted instead. Default: 0.
   */
  readonly retryJitterMs?: number | undefined
  /**
   * The longest `Retry-After`, in ms, rounded down to whole seconds. Default: 2147483647, JavaScript's longest timer. With
   * a longer wait, many HTTP clients do not wait at all and retry at once.
   */
  readonly maxRetryAfterMs?: number | undefined
  /**
   * Whether the text of a denial names the client's plan. Headers and `violated-policies` name limits in any case. If a
   * request has several subjects, the limit names of all but the first begin with their plan, such as `free.minute`. Give
   * these subjects a `label` to hide it there. Default: true.
   */
  readonly namePlan?: boolean | undefined
  /** The status for subjects that are blocked. With a block that ends, `Retry-After` is sent as well. Default: 403. */
  readonly blockedStatus?: 403 | 429 | undefined
  /** Whether the body for a blocked subject has the `reason` that was passed to `limiter.block`. Default: false. */
  readonly nameReason?: boolean | undefined
  /**
   * Puts a reference into each denial's body, as `instance`, from which you can read later why the request was denied: made by
   * `denialReferences`.
   */
  readonly references?: Pick<DenialReferences, 'of'> | undefined
}

const LONGEST_JITTER_MS = 3_600_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** @throws {ConfigError} when an option is wrong */
export function checkDenialOptions(options: DenialOptions): void {
  const { retryJitterMs, maxRetryAfterMs, namePlan, blockedStatus = 403, nameReason, references } = options
  needWhole('retryJitterMs', retryJitterMs, { of: 'ms', least: 0, most: LONGEST_JITTER_MS })
  needWhole('maxRetryAfterMs', maxRetryAfterMs, { of: 'ms', least: 1000 })
  needBoolean('namePlan', namePlan)
  needBoolean('nameReason', nameReason)
  if (
    references !== undefined &&
    typeof (references as Partial<DenialReferences> | null)?.of !== 'function'
  ) {
    const expected = 'what denialReferences({ secret }) returns'
    throw ConfigError.wrongSecret('references', references, expected)
  }
  if (blockedStatus === 403 || blockedStatus === 429) return
  throw ConfigError.wrong('blockedStatus', blockedStatus, '403 or 429')
}

/** When a denied client may retry. */
export interface Retry {
  /** For the text of the denial: in ms, with jitter, not shortened by `maxRetryAfterMs`. */
  readonly waitMs: number
  /** The value of `Retry-After`: whole seconds, at least 1. */
  readonly seconds: number
}

/** When a denied client may retry, with jitter. Undefined when waiting would not help. */
export function retryFor({ retryAfterMs }: Decision, options: DenialOptions = {}): Retry | undefined {
  if (retryAfterMs === null) return undefined
  const { retryJitterMs = 0, maxRetryAfterMs = LONGEST_TIMER_MS } = options
  const share = Math.random()
  const longestMs = Math.floor(maxRetryAfterMs / 1000) * 1000
  if (retryAfterMs <= longestMs) {
    const waitMs = retryAfterMs + share * Math.min(retryJitterMs, longestMs - retryAfterMs)
    return { waitMs, seconds: Math.max(toSeconds(waitMs), 1) }
  }
  // Such a client comes back too early in any case. Spread below the longest wait, or all of them would come back at once.
  const earlierMs = share * Math.min(retryJitterMs, longestMs - 1000)
  return { waitMs: retryAfterMs + share * retryJitterMs, seconds: toSeconds(longestMs - earlierMs) }
}

/**
 * Sets the headers that only denials have.
 *
 * @param retry undefined when waiting would not help
 */
export function writeDenial<Res>(retry: Retry | undefined, access: HeaderAccess<Res>, res: Res): void {
  access.setHeader(res, 'Cache-Control', 'no-store')
  if (retry) access.setHeader(res, 'Retry-After', String(retry.seconds))
}

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
  /** Why a subject is blocked, with `nameReason`. */
  readonly reason?: string
  /** The reference of this denial, with `references`. */
  readonly instance?: string
}

const TYPES = 'https://iana.org/assignments/http-problem-types#'
const REDUCED_CAPACITY = {
  type: `${TYPES}temporary-reduced-capacity`,
  title: 'Temporary Reduced Capacity',
  status: 503,
} as const
/** The problems that do not come from a limit. */
const PROBLEMS: { readonly [Reason in NonNullable<Decision['reason']>]?: Problem } = {
  blocked: {
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: 'This client is blocked.',
    code: 'blocked',
  },
  'store-unavailable': {
    ...REDUCED_CAPACITY,
    detail: 'The service cannot check rate limits at the moment. Try again shortly.',
    code: 'rate_limit_unavailable',
  },
  overloaded: {
    ...REDUCED_CAPACITY,
    detail: 'The service is overloaded at the moment. Try again shortly.',
    code: 'overloaded',
  },
}

/**
 * The status of a denial: 429 by a limit, 503 when the store could not answer or the process is overloaded, 403 for a
 * subject that is blocked, unless `blockedStatus` says otherwise.
 */
export function statusFor({ reason }: Decision, { blockedStatus = 403 }: DenialOptions): Problem['status'] {
  if (reason === 'blocked') return blockedStatus
  return (reason && PROBLEMS[reason]?.status) ?? 429
}

function blockedProblem({ block }: Decision, { retry, blockedStatus = 403, nameReason }: Said): Problem {
  const { type, title, detail } = PROBLEMS.blocked as Problem
  return {
    type,
    title: blockedStatus === 403 ? title : 'Too Many Requests',
    status: blockedStatus,
    detail: retry && block ? `${detail.slice(0, -1)} ${untilFor(block, retry.waitMs)}.` : detail,
    code: 'blocked',
    ...(nameReason && block?.reason !== undefined && { reason: block.reason }),
  }
}

/** A denial's status, media type and body. */
export type Rendered = Omit<HttpDenial, 'decision'>

/** A media type in which problems can be rendered. */
export type ProblemType = (typeof OFFERED)[number]

const OFFERED = ['application/problem+json', 'application/json', 'text/plain', 'text/html'] as const
const PLAIN = 'text/plain; charset=utf-8'

/** What a denial may say. */
export interface Said extends Pick<DenialOptions, 'namePlan' | 'blockedStatus' | 'nameReason'> {
  /** Undefined when waiting would not help. */
  readonly retry: Retry | undefined
}

/** Renders the problem of a denial as JSON or as plain text. */
export function renderProblem(decision: Decision, type: ProblemType, said: Said): Rendered {
  const problem = decision.reason === 'blocked' ? blockedProblem(decision, said) : problemFor(decision, said)
  const { status, title, detail } = problem
  if (type === 'application/problem+json' || type === 'application/json') {
    return { status, contentType: type, body: JSON.stringify(problem) }
  }
  const why = problem.reason === undefined ? '' : ` Reason: ${problem.reason}`
  return { status, contentType: PLAIN, body: `${title}. ${detail}${why}\n` }
}

/** The same with the reference of the denial. Bodies are kept for several denials, and a reference is for one subject. */
export function withReference(made: Rendered, decision: Decision, { references }: DenialOptions): Rendered {
  if (!references) return made
  const { body, contentType } = made
  const reference = references.of(decision)
  if (contentType === PLAIN) return { ...made, body: `${body.slice(0, -1)} Reference: ${reference}\n` }
  return { ...made, body: `${body.slice(0, -1)},"instance":${JSON.stringify(reference)}}` }
}

function problemFor(decision: Decision, { retry, namePlan = true }: Said): Problem {
  return (
    (decision.reason && PROBLEMS[decision.reason]) ?? {
      type: `${TYPES}quota-exceeded`,
      title: 'Quota Exceeded',
      status: 429,
      detail: detailFor(decision, retry?.waitMs, namePlan),
      'violated-policies': decision.violated.map(toPolicyName),
      code: retry ? 'rate_limit_exceeded' : 'cost_exceeds_quota',
    }
  )
}

/** Renders a body made by the user's `body` function: a string as plain text, anything else as JSON. */
export function renderBody(status: number, body: unknown): Rendered {
  if (typeof body === 'string') return { status, contentType: PLAIN, body }
  return { status, contentType: 'application/json', body: JSON.stringify(body) ?? 'null' }
}

const LONGEST_READ = 1000

/**
 * Picks the media type of problems that an Accept header prefers. Among equals, the first wins. If none is acceptable, the
 * first is used too, since a denial needs some answer.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.accept
 */
export function mediaTypeFor(accept: string | undefined): ProblemType {
  let best: ProblemType = OFFERED[0]
  if (!accept || accept === '*/*') return best
  const ranges = accept.slice(0, LONGEST_READ).split(',').map(readRange)
  let most = 0
  for (const type of OFFERED) {
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
