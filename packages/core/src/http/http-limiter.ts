import type { Decision } from '../decision.js'
import { ConfigError } from '../errors.js'
import { createLimiter, LIMITER_OPTIONS, type Limiter, type LimiterOptions } from '../limiter.js'
import { needOptions } from '../options.js'
import { compilePlans } from '../plan.js'
import type { MaybePromise } from '../stores/store.js'
import { readSubject, type Subject } from '../subject.js'
import type { HttpAdapter } from './adapter.js'
import { headerWriter, type HeaderOptions } from './headers.js'
import { IPV6_PREFIX, subjectOfIp, type Identify } from './identify.js'
import { problemOf } from './problem.js'

/** What every adapter takes. `Req` and `Res` are the framework's own. */
export interface RateLimitOptions<Req, Res = unknown> extends LimiterOptions {
  /** A limiter made by `createLimiter`, in place of its options, to share it. */
  readonly limiter?: Limiter
  /** Who pays. Default: the client's address, on the default plan. */
  readonly identify?: Identify<Req>
  /** Quota units a request takes: a whole number from 1, or a function. Default: 1. */
  readonly cost?: number | ((req: Req) => MaybePromise<number>)
  /** Requests that are not limited at all, such as health checks. */
  readonly skip?: (req: Req) => MaybePromise<boolean>
  /** Which headers tell clients where they stand; false: none. `Retry-After` of a denial is always sent. */
  readonly headers?: HeaderOptions | false
  /**
   * Answers a denied request in place of the 429 or 503 of Tollgate. Headers are set by then, the status is not.
   * `decision.reason` tells a used up limit from a store that failed.
   */
  readonly onDenied?: (req: Req, res: Res, decision: Decision) => MaybePromise<unknown>
}

export interface HttpLimiter<Req, Res> {
  readonly limiter: Limiter
  /**
   * Decides a request: true to go on; false when it has been answered. Throws or rejects with what `identify`,
   * `cost`, `skip` or `onDenied` threw, for the framework's error handling.
   */
  admit(req: Req, res: Res): MaybePromise<boolean>
}

const HTTP_OPTIONS = ['limiter', 'identify', 'cost', 'skip', 'headers', 'onDenied']

/**
 * The road of a request, the same for every framework: who pays, how much, the decision, headers, and the answer
 * of a denied one.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function createHttpLimiter<Req, Res>(
  adapter: HttpAdapter<Req, Res>,
  options: RateLimitOptions<Req, Res>,
): HttpLimiter<Req, Res> {
  checkOptions(options)
  return new Road(adapter, options)
}

class Road<Req, Res> implements HttpLimiter<Req, Res> {
  readonly limiter: Limiter
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #options: RateLimitOptions<Req, Res>
  readonly #writeHeaders: ReturnType<typeof headerWriter>
  #mayWarn = true

  constructor(adapter: HttpAdapter<Req, Res>, options: RateLimitOptions<Req, Res>) {
    this.#adapter = adapter
    this.#options = options
    this.#writeHeaders = headerWriter(options.headers)
    this.limiter = options.limiter ?? createLimiter(limiterOptions(options))
  }

  admit(req: Req, res: Res): MaybePromise<boolean> {
    const { skip } = this.#options
    if (!skip) return this.#identify(req, res)
    return chain(skip(req), (skipped) => skipped || this.#identify(req, res))
  }

  #identify(req: Req, res: Res): MaybePromise<boolean> {
    const given = this.#options.identify?.(req)
    return chain(given, (identified) => {
      const subject = readSubject(identified) ?? subjectOfIp(this.#adapter.ip(req), IPV6_PREFIX)
      if (subject.kind === 'ip') this.#warnOfProxy(req)
      return this.#consume(req, res, subject)
    })
  }

  #consume(req: Req, res: Res, subject: Subject): MaybePromise<boolean> {
    const { cost = 1 } = this.#options
    const costs = typeof cost === 'function' ? cost(req) : cost
    const decided = chain(costs, (units) => this.limiter.consume(subject, { cost: units }))
    return chain(decided, (decision) => this.#answer(req, res, decision))
  }

  #answer(req: Req, res: Res, decision: Decision): MaybePromise<boolean> {
    const adapter = this.#adapter
    adapter.attach(req, decision)
    if (adapter.isSent(res)) return decision.allowed
    this.#writeHeaders(decision, (name, value) => adapter.setHeader(res, name, value))
    if (decision.allowed) return true

    const problem = problemOf(decision)
    adapter.setHeader(res, 'Cache-Control', 'no-store')
    if (problem.retryAfter !== undefined) adapter.setHeader(res, 'Retry-After', String(problem.retryAfter))
    const { onDenied } = this.#options
    if (onDenied) return chain(onDenied(req, res, decision), () => false)
    adapter.end(res, { ...problem, decision })
    return false
  }

  /** Once: a proxy in front that is not trusted makes all its clients one. */
  #warnOfProxy(req: Req): void {
    const { header, trustsProxy, framework, trustSetting } = this.#adapter
    if (!this.#mayWarn || !(header(req, 'x-forwarded-for') ?? header(req, 'forwarded'))) return
    this.#mayWarn = false
    if (trustsProxy(req)) return
    process.emitWarning(
      `A request came with a forwarded header, but ${framework} trusts no proxy, so all clients behind one count ` +
        `as one address. If there is a proxy, set ${trustSetting}; if not, a client made the header up.`,
      'TollgateWarning',
    )
  }
}

/** `next` on the value now, or when it is there: no promise where none is needed. */
function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

function limiterOptions<Req, Res>(options: RateLimitOptions<Req, Res>): LimiterOptions {
  return Object.fromEntries(Object.entries(options).filter(([key]) => !HTTP_OPTIONS.includes(key)))
}

function checkOptions<Req, Res>(options: RateLimitOptions<Req, Res>): void {
  needOptions(options, [...LIMITER_OPTIONS, ...HTTP_OPTIONS])
  const { limiter, cost, identify } = options
  for (const name of ['identify', 'skip', 'onDenied'] as const) {
    const given = options[name]
    if (given !== undefined && typeof given !== 'function') throw new ConfigError(name, given, 'a function')
  }
  if (cost !== undefined && typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost >= 1)) {
    throw new ConfigError('cost', cost, 'a whole number of units from 1, or a function that returns one')
  }
  if (limiter !== undefined) checkShared(options, limiter)
  else if (!identify && !compilePlans(options).hasDefault) {
    throw new ConfigError(
      'defaultPlan',
      options.defaultPlan,
      'the plan of client addresses, since there is no identify',
    )
  }
}

function checkShared<Req, Res>(options: RateLimitOptions<Req, Res>, limiter: Limiter): void {
  if (typeof (limiter as Partial<Limiter> | null)?.consume !== 'function') {
    throw new ConfigError('limiter', limiter, 'a limiter made by createLimiter')
  }
  const doubled = LIMITER_OPTIONS.find((name) => name in options)
  if (doubled === undefined) return
  const given = (options as unknown as Record<string, unknown>)[doubled]
  throw new ConfigError(doubled, given, 'none: the limiter that was given has its own')
}
