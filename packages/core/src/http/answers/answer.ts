import { atCaller, ConfigError, TollgateError } from '../../base/errors.js'
import { needOptions } from '../../base/options.js'
import { isPromise } from '../../base/promises.js'
import { attempt, isA } from '../../base/show.js'
import type { Decision, LimitState } from '../../limiter/decision/decision.js'
import type { HttpAnswer } from '../adapter.js'
import { type HeaderOptions, createHeaderWriter, type HeaderAccess, type HeaderWriter } from '../headers.js'
import { mediaTypeFor, problemOf, renderProblem } from './problem.js'
import { checkRetryOptions, retryOf, type Retry, type RetryOptions } from './retry.js'

/** How denials are answered. */
export interface DenialOptions extends RetryOptions {
  /**
   * Whether the text of a denial names the client's plan. Headers and `violated-policies` contain the names of limits. If
   * a request has several subjects, the limits of the second and later ones begin with the plan, as in `free.minute`:
   * give these subjects a `label` to hide it there. Default: true.
   */
  readonly namePlan?: boolean | undefined
}

export interface AnswerOptions extends DenialOptions {
  /** The `Accept` header of the request. Without it a denial is answered as problem details. */
  readonly accept?: string | null | undefined
  /** Which rate limit headers to send; false for none. `partitionKey` is not available here. */
  readonly headers?: Omit<HeaderOptions, 'partitionKey'> | false | undefined
}

/** A decision as the status, headers and body of an HTTP response. */
export interface Answer {
  /** 429, 503 or 403; undefined when the request is allowed, since the application answers it then. */
  readonly status: number | undefined
  /** Set these on the response, allowed or denied. A denial also has `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined when the request is allowed. */
  readonly body: string | undefined
}

type Headers = Record<string, string>

const onRecord: HeaderAccess<Headers> = {
  getHeader: (headers, name) => headers[name],
  setHeader: (headers, name, value) => void (headers[name] = value),
}

const ANSWER_OPTIONS = ['accept', 'headers', 'retryJitterMs', 'maxRetryAfterMs', 'namePlan']

/**
 * Turns a decision into status, headers and body, the same as the adapters send. For servers that have no adapter.
 *
 * @throws {ConfigError} when an option is wrong, or the first argument is no decision
 * @example
 * const { status, headers, body } = answerOf(await limiter.consume(id), { accept: req.headers.accept })
 * for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
 * if (status) return res.writeHead(status).end(body)
 */
export function answerOf(decision: Decision, options: AnswerOptions = {}): Answer {
  const write = atCaller(answerOf, () => checkedWriter(decision, options))
  const headers: Headers = {}
  write(decision, onRecord, headers)
  if (decision.allowed) return { status: undefined, headers, body: undefined }
  const retry = retryOf(decision, options)
  writeDenial(retry, onRecord, headers)
  const problem = problemOf(decision, retry, options.namePlan)
  const { status, contentType, body } = renderProblem(problem, mediaTypeFor(options.accept ?? undefined))
  headers['Content-Type'] = contentType
  return { status, headers, body }
}

/** @throws {ConfigError} when an argument of answerOf is wrong */
function checkedWriter(decision: Decision, options: AnswerOptions): HeaderWriter<Headers> {
  needDecision(decision)
  needOptions(options, ANSWER_OPTIONS, 'answerOf')
  checkAccept(options.accept)
  checkDenialOptions(options)
  return writerOf(options.headers)
}

function checkAccept(given: unknown): void {
  if (given === undefined || given === null || typeof given === 'string') return
  throw ConfigError.wrong('accept', given, 'the Accept header of the request as text: req.headers.accept')
}

/** @throws {ConfigError} when an option is wrong */
export function checkDenialOptions(options: DenialOptions): void {
  checkRetryOptions(options)
  const { namePlan } = options
  if (namePlan !== undefined && typeof namePlan !== 'boolean') {
    throw ConfigError.wrong('namePlan', namePlan, 'true or false')
  }
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

const usualWriter = createHeaderWriter<Headers>()
/** A writer for each options object. Most callers keep theirs in a constant, and a writer caches header values. */
const writers = new WeakMap<object, HeaderWriter<Headers>>()

function writerOf(options: AnswerOptions['headers']): HeaderWriter<Headers> {
  if (options === undefined) return usualWriter
  const known = typeof options === 'object' && options !== null ? writers.get(options) : undefined
  if (known) return known
  const { partitionKey } = (options || {}) as HeaderOptions
  if (partitionKey !== undefined) {
    // The hash needs the limiter's secret, which cannot be read from a decision.
    throw new ConfigError('headers.partitionKey', 'only rateLimit of an adapter can send it: leave it out')
  }
  const made = createHeaderWriter<Headers>(options)
  if (options !== false) writers.set(options, made)
  return made
}

/**
 * Refuses what is no decision; one that was copied or made by hand is.
 *
 * @throws {ConfigError} with the path `decision`
 */
function needDecision(given: unknown): asserts given is Decision {
  if (attempt(() => isDecision(given), false)) return
  const isPending = attempt(() => isPromise(given), false)
  // A rejection of the promise must not end the process.
  if (isA(given, Promise)) given.catch(() => {})
  const remedy = isPending
    ? 'write await before it, as in answerOf(await limiter.consume(id))'
    : 'as in answerOf(await limiter.consume(id))'
  throw ConfigError.wrong('decision', given, `the decision that consume returned: ${remedy}`)
}

function isDecision(given: unknown): boolean {
  const { allowed, cost, limits, violated, retryAfterMs } = given as Partial<Decision>
  return (
    typeof allowed === 'boolean' &&
    isAmount(cost) &&
    (retryAfterMs === null || isAmount(retryAfterMs)) &&
    Array.isArray(violated) &&
    Array.isArray(limits) &&
    limits.every(isLimitState)
  )
}

function isLimitState(given: LimitState): boolean {
  const { name, quota, windowMs, used, remaining, resetMs } = given
  return typeof name === 'string' && [quota, windowMs, used, remaining, resetMs].every(isAmount)
}

function isAmount(given: unknown): boolean {
  return typeof given === 'number' && given >= 0 && given < Infinity
}

/**
 * A denial that goes to the application's error handler, as in Fastify. The headers of the response are set already.
 * Status and body are here, so that the handler can send them, or a text of its own.
 */
export class LimitedError extends TollgateError {
  /**
   * 429; 403 for the block list; 503 when the store could not answer and the failure policy is `closed`, or when the
   * process is overloaded.
   */
  readonly statusCode: number
  /** The same as `statusCode`: some error handlers read this name. */
  readonly status: number
  readonly decision: Decision
  /** The media type of `body`. */
  readonly contentType: string
  /** The body that Tollgate would have sent. */
  readonly body: string

  constructor({ status, contentType, body, decision }: HttpAnswer) {
    super('ERR_TOLLGATE_LIMITED', messageOf(decision))
    this.statusCode = status
    this.status = status
    this.decision = decision
    this.contentType = contentType
    this.body = body
  }
}

/** Error handlers often send the message to clients, so it does not contain the subject. */
function messageOf({ reason, violated }: Decision): string {
  if (reason === 'blocked') return 'This client is blocked'
  if (reason === 'store-unavailable') return 'Rate limits cannot be checked at the moment'
  if (reason === 'overloaded') return 'This process is overloaded'
  return violated.length > 0
    ? `Over the rate limit: ${violated.join(', ')}`
    : 'Not let pass by the rate limiter'
}
