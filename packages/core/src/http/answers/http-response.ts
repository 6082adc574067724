import { atCaller, ConfigError, TollgateError } from '../../base/errors.js'
import { needOptions } from '../../base/options.js'
import type { Decision } from '../../limiter/decision/decision.js'
import type { HttpDenial } from '../adapter.js'
import { needDecision } from './needed-decision.js'
import { type HeaderOptions, createHeaderWriter, type HeaderAccess, type HeaderWriter } from '../headers.js'
import {
  checkDenialOptions,
  mediaTypeFor,
  renderProblem,
  retryFor,
  withReference,
  writeDenial,
  type DenialOptions,
} from './denial.js'

/** Options of `toHttpResponse` and `refuseUpgrade`. */
export interface HttpResponseOptions extends DenialOptions {
  /** The request's `Accept` header. Without it, the body is problem details as JSON. */
  readonly accept?: string | null | undefined
  /** Which rate limit headers to send; false for none. `partitionKey` is not available here. */
  readonly headers?: Omit<HeaderOptions, 'partitionKey'> | false | undefined
}

/** A decision as the status, headers and body of an HTTP response. */
export interface HttpResponse {
  /** 429, 503 or 403; undefined if the request is allowed, since then the application answers it. */
  readonly status: number | undefined
  /** Set these on the response, allowed or denied. A denial also has `Content-Type`. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined if the request is allowed. */
  readonly body: string | undefined
}

type Headers = Record<string, string>

const onRecord: HeaderAccess<Headers> = {
  getHeader: (headers, name) => headers[name],
  setHeader: (headers, name, value) => void (headers[name] = value),
}

const ANSWER_OPTIONS = [
  'accept',
  'headers',
  'retryJitterMs',
  'maxRetryAfterMs',
  'namePlan',
  'blockedStatus',
  'nameReason',
  'references',
]

/**
 * Turns a decision into the status, headers and body that adapters send, for servers that have no adapter.
 *
 * @throws {ConfigError} when an option is wrong, or the first argument is not a decision
 * @example
 * const { status, headers, body } = toHttpResponse(await limiter.consume(id), { accept: req.headers.accept })
 * for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
 * if (status) return res.writeHead(status).end(body)
 */
export function toHttpResponse(decision: Decision, options: HttpResponseOptions = {}): HttpResponse {
  const write = atCaller(toHttpResponse, () => checkedWriter(decision, options))
  const headers: Headers = {}
  write(decision, onRecord, headers)
  if (decision.allowed) return { status: undefined, headers, body: undefined }
  const retry = retryFor(decision, options)
  writeDenial(retry, onRecord, headers)
  const type = mediaTypeFor(options.accept ?? undefined)
  const rendered = renderProblem(decision, type, { ...options, retry })
  const { status, contentType, body } = withReference(rendered, decision, options)
  headers['Content-Type'] = contentType
  return { status, headers, body }
}

/** @throws {ConfigError} when an argument of toHttpResponse is wrong */
function checkedWriter(decision: Decision, options: HttpResponseOptions): HeaderWriter<Headers> {
  needDecision(decision, 'toHttpResponse')
  needOptions(options, ANSWER_OPTIONS, 'toHttpResponse')
  checkAccept(options.accept)
  checkDenialOptions(options)
  return writerFor(options.headers)
}

function checkAccept(given: unknown): void {
  if (given === undefined || given === null || typeof given === 'string') return
  throw ConfigError.wrong('accept', given, 'the Accept header of the request as text: req.headers.accept')
}

const usualWriter = createHeaderWriter<Headers>()
/** One writer for each options object. Most callers keep theirs in a constant, and a writer caches header values. */
const writers = new WeakMap<object, HeaderWriter<Headers>>()

function writerFor(options: HttpResponseOptions['headers']): HeaderWriter<Headers> {
  if (options === undefined) return usualWriter
  const known = typeof options === 'object' && options !== null ? writers.get(options) : undefined
  if (known) return known
  const { partitionKey } = (options || {}) as HeaderOptions
  if (partitionKey !== undefined) {
    // The hash needs the limiter's secret, which cannot be read from a decision.
    throw new ConfigError('headers.partitionKey', "only an adapter's rateLimit can send it: leave it out")
  }
  const made = createHeaderWriter<Headers>(options)
  if (options !== false) writers.set(options, made)
  return made
}

/**
 * A denial that reaches the application's own error handler, in Fastify. The response's headers are set already. The
 * handler can send the status and body from this error, or its own text.
 */
export class LimitedError extends TollgateError {
  /**
   * 429 by a limit; 403 for the block list or a `blocked` plan; 503 when the store could not answer and the failure policy
   * is `closed`, or when the process is overloaded.
   */
  readonly statusCode: number
  /** The same as `statusCode`: some error handlers read this name. */
  readonly status: number
  /** The decision that denied the request. */
  readonly decision: Decision
  /** The media type of `body`. */
  readonly contentType: string
  /** The body that Tollgate would have sent. */
  readonly body: string

  constructor({ status, contentType, body, decision }: HttpDenial) {
    super('ERR_TOLLGATE_LIMITED', messageFor(decision))
    this.statusCode = status
    this.status = status
    this.decision = decision
    this.contentType = contentType
    this.body = body
  }
}

/** Error handlers often send the message to clients, so it does not name the subject. */
function messageFor({ reason, violated }: Decision): string {
  if (reason === 'blocked') return 'This client is blocked'
  if (reason === 'store-unavailable') return 'Rate limits cannot be checked at the moment'
  if (reason === 'overloaded') return 'This process is overloaded'
  return violated.length > 0 ? `Over the rate limit: ${violated.join(', ')}` : 'Denied by the rate limiter'
}
