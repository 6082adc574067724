import type { Decision } from '../limiter/decision.js'
import { decideBlocked } from '../limiter/uncounted-decision.js'
import { atCaller, fromCaller } from '../base/at-caller.js'
import { ConfigError } from '../base/errors.js'
import type { Warn } from '../base/warnings.js'
import type { Consumer, Limiter } from '../limiter/limiter.js'
import { needCost, USE_SKIP } from '../requests/cost.js'
import { chain, isPromise, type MaybePromise } from '../base/maybe-promise.js'
import { readSubjects } from '../requests/subject.js'
import type { Subject } from '../plans/subject.js'
import { internalsOf } from '../limiter/internals.js'
import type { HttpAdapter } from './adapter.js'
import { noteDecision, type CountedIn } from './decisions.js'
import { DenialAnswers } from './denial-answers.js'
import { contextOf } from './event-context.js'
import { headerWriter, type HeaderWriter } from './headers.js'
import { isByAddress, isIp, isUnknownIp, subjectOfAddress, type Identified } from './identify.js'
import { watchIdentity, type IdentityWatch } from './identity-watch.js'
import { compileList, type List } from './lists.js'
import { MakingWatch, warnOfCountedTwice } from './mistakes.js'
import { makeLimiter } from './make-limiter.js'
import { routeOptions, scopeOptions, type RouteOptions, type RateLimitOptions } from './options.js'
import { checkHttpOptions, checkRouteOptions } from './option-checks.js'
import { warnOfProxy } from './proxy-warning.js'
import { isLimited } from './limited-methods.js'
import { limitOfRequest, LimitsOfRequest } from './limits-of-request.js'
import { refundLater, releaseLater } from './refund-later.js'
import { shedderOf, type Shedder } from './shedding/shedder.js'
import { whileHere, type Asked } from './while-here.js'

export interface HttpLimiter<Req, Res> {
  readonly limiter: Limiter
  /** Whether subjects are client addresses only, so that a decision needs no authentication. */
  readonly isByAddress: boolean
  /**
   * Decides a request: true to continue, false when it was answered with a denial. If `identify`, `cost`, `skip` or
   * another function of the options throws, this throws or rejects with the same error.
   */
  admit(req: Req, res: Res): MaybePromise<boolean>
  /**
   * The same limiter for one route. The options of the route override those of this limiter.
   *
   * @param path where the user wrote the options, for errors: `config.rateLimit`
   * @throws {ConfigError} when an option is wrong
   */
  route(own: RouteOptions<Req, Res>, path?: string): HttpLimiter<Req, Res>
}

/**
 * Makes what handles every request in the same way for all frameworks: find the subjects and the cost, decide, set
 * headers, and answer a denied request.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function createHttpLimiter<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  options: RateLimitOptions<Req, Res>,
): HttpLimiter<Req, Res> {
  const watch = options?.limiter || options?.store ? undefined : new MakingWatch()
  return atCaller(createHttpLimiter, () => new RequestLimiter(adapter, options, watch))
}

class RequestLimiter<Req extends object, Res> implements HttpLimiter<Req, Res> {
  readonly limiter: Limiter
  readonly isByAddress: boolean
  readonly #consumer: Consumer
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #options: RateLimitOptions<Req, Res>
  readonly #warn: Warn
  readonly #identity: IdentityWatch<Req> | undefined
  readonly #writeHeaders: HeaderWriter<Res>
  readonly #denials: DenialAnswers<Req, Res>
  readonly #property: string
  readonly #shedder: Shedder<Req, Res> | undefined
  /** Set if `limit` is a function. */
  readonly #limits: LimitsOfRequest<Req> | undefined
  readonly #allowList: List<Req> | undefined
  readonly #blockList: List<Req> | undefined
  /** The addresses of requests that wait for a promise. Once a client disconnects, its address cannot be read. */
  readonly #addresses = new WeakMap<Req, string | undefined>()
  #countedIn: CountedIn
  /** Undefined with a shared limiter or a store, since their counters outlive this object. */
  readonly #making: MakingWatch | undefined

  /** @throws {ConfigError} when an option is wrong */
  constructor(adapter: HttpAdapter<Req, Res>, options: RateLimitOptions<Req, Res>, making?: MakingWatch) {
    checkHttpOptions(options, adapter)
    const { allowList, blockList, headers, limiter, identify, requestProperty = 'rateLimit' } = options
    this.#adapter = adapter
    this.#making = making
    // A copy, so that nobody changes the options after they were checked.
    this.#options = { ...options }
    this.#allowList = allowList === undefined ? undefined : compileList('allowList', allowList)
    this.#blockList = blockList === undefined ? undefined : compileList('blockList', blockList)
    // After all else that can be wrong: nobody could close a limiter that the caller never gets.
    this.limiter = limiter ?? makeLimiter(options)
    this.#shedder = shedderOf(adapter, options.shed, this.limiter)
    this.#countedIn = { limiter: this.limiter, group: options.group }
    const internals = internalsOf(this.limiter)
    this.#warn = internals.warn
    const limitOf = limitOfRequest<Req>(options)
    this.#limits = limitOf && new LimitsOfRequest(limitOf, this.limiter)
    this.isByAddress = isByAddress(identify) && !limitOf
    this.#identity = watchIdentity(adapter, identify, this.limiter)
    this.#writeHeaders = headerWriter(headers, internals.hide)
    this.#denials = new DenialAnswers(adapter, this.#options)
    this.#property = requestProperty
    const scope = scopeOptions(options)
    this.#consumer = Object.keys(scope).length > 0 ? this.limiter.scope(scope) : this.limiter
  }

  admit(req: Req, res: Res): MaybePromise<boolean> {
    this.#making?.met(this.#warn)
    if (!isLimited(this.#adapter, req, this.#options.methods)) return this.#checkBlocked(req, res)
    const { skip } = this.#options
    if (!skip) return this.#identify(req, res)
    return chain(this.#await(req, skip(req)), (skipped) => (skipped ? true : this.#identify(req, res)))
  }

  route(own: RouteOptions<Req, Res>, path = ''): HttpLimiter<Req, Res> {
    try {
      checkRouteOptions(own)
      const route = new RequestLimiter(this.#adapter, routeOptions(this.#options, own, this.limiter))
      // A route may be meant to count on top of the limiter around it, such as a hook of Fastify's routes.
      route.#countedIn = { limiter: route, group: undefined }
      return route
    } catch (error) {
      throw fromCaller(error instanceof ConfigError ? error.within(path) : error, RequestLimiter.prototype.route)
    }
  }

  /** Keeps the client's address while a promise is pending, since the client may disconnect meanwhile. */
  #await<T>(req: Req, given: T): T {
    if (isPromise(given)) this.#addresses.set(req, this.#ipOf(req))
    return given
  }

  #ipOf(req: Req): string | undefined {
    return this.#addresses.has(req) ? this.#addresses.get(req) : this.#adapter.ip(req)
  }

  #identify(req: Req, res: Res): MaybePromise<boolean> {
    const found = this.#options.identify?.(req)
    // Here and below no function is made for a request that waits for nothing.
    if (!isPromise(found)) return this.#decide(req, res, found)
    return chain(this.#await(req, found), (identified) => this.#decide(req, res, identified))
  }

  #decide(req: Req, res: Res, identified: Identified | readonly Identified[]): MaybePromise<boolean> {
    const found = readSubjects(identified)
    this.#identity?.met(req, res, found)
    const subjects = found ?? ([subjectOfAddress(this.#ipOf(req))] as const)
    if (subjects.some(isIp)) warnOfProxy(this.#adapter, req, this.#warn)
    if (this.#allowList || this.#blockList) {
      return this.#checkLists(req, res, subjects, () => this.#consumeOrShed(req, res, subjects))
    }
    return this.#isLost(req, subjects) ? false : this.#consumeOrShed(req, res, subjects)
  }

  /** @param next decides a request that is on neither list */
  #checkLists(
    req: Req,
    res: Res,
    subjects: readonly [Subject, ...Subject[]],
    next: () => MaybePromise<boolean>,
  ): MaybePromise<boolean> {
    const address = this.#ipOf(req)
    const isOn = (list: List<Req> | undefined): MaybePromise<boolean> =>
      list ? list.has(subjects, address, req) : false
    return chain(isOn(this.#allowList), (isAllowed) => {
      if (isAllowed) return true
      return chain(isOn(this.#blockList), (isBlocked) => {
        if (isBlocked) return this.#answer(req, res, decideBlocked(subjects[0]))
        return this.#isLost(req, subjects, address) ? false : next()
      })
    })
  }

  /**
   * Whether the client disconnected before its address could be read, and the decision needs that address. Such a
   * request ends here without an answer, since nobody reads one. It must neither be let in nor count as a subject.
   */
  #isLost(req: Req, subjects: readonly Subject[], address?: string): boolean {
    const isUnchecked = !address && this.#blockList?.hasAddresses
    return (isUnchecked || subjects.some(isUnknownIp)) && this.#adapter.hasLeft(req)
  }

  /**
   * The block list also applies to requests with methods that are not limited. It is checked for their address only,
   * since such requests (CORS preflights, for example) may carry no credentials.
   */
  #checkBlocked(req: Req, res: Res): MaybePromise<boolean> {
    if (!this.#blockList) return true
    return this.#checkLists(req, res, [subjectOfAddress(this.#ipOf(req))], () => true)
  }

  #consumeOrShed(req: Req, res: Res, subjects: readonly [Subject, ...Subject[]]): MaybePromise<boolean> {
    if (!this.#shedder) return this.#limit(req, res, subjects)
    const refusal = this.#await(req, this.#shedder.refusal(req, res, subjects[0]))
    return chain(refusal, (shed) => (shed ? this.#answer(req, res, shed) : this.#limit(req, res, subjects)))
  }

  #limit(req: Req, res: Res, subjects: readonly [Subject, ...Subject[]]): MaybePromise<boolean> {
    if (!this.#limits) return this.#consume(req, res, subjects)
    const limited = this.#await(req, this.#limits.apply(req, subjects))
    return chain(limited, (all) => this.#consume(req, res, all))
  }

  #consume(req: Req, res: Res, subjects: readonly [Subject, ...Subject[]]): MaybePromise<boolean> {
    const { cost = 1, refundWhen } = this.#options
    const settle = refundWhen && refundLater(this.#adapter, this.limiter, refundWhen, { req, res })
    const conclude = (decision: Decision): MaybePromise<boolean> => {
      settle?.(decision)
      releaseLater(this.#adapter, decision, res)
      return this.#answer(req, res, decision)
    }
    const units = typeof cost === 'function' ? cost(req) : cost
    const ask = (known: number): MaybePromise<boolean> => {
      if (!internalsOf(this.limiter).canWait())
        return chain(this.#ask(req, subjects, { cost: known }), conclude)
      return whileHere(
        { adapter: this.#adapter, res },
        (signal) => this.#ask(req, subjects, { cost: known, signal }),
        conclude,
      )
    }
    return isPromise(units) ? chain(units, ask) : ask(units)
  }

  #ask(req: Req, subjects: readonly [Subject, ...Subject[]], options: Asked): MaybePromise<Decision> {
    needCost(options.cost, 1, USE_SKIP)
    const { eventContext } = this.#options
    const who = subjects.length === 1 ? subjects[0] : subjects
    if (!eventContext && options.cost === 1 && !options.signal) return this.#consumer.consume(who)
    const context = eventContext && contextOf(eventContext, this.#adapter, req, () => this.#ipOf(req))
    return this.#consumer.consume(who, context ? { ...options, context } : options)
  }

  #answer(req: Req, res: Res, decision: Decision): MaybePromise<boolean> {
    const adapter = this.#adapter
    adapter.attach(req, decision, this.#property)
    if (noteDecision(req, decision, this.#countedIn)) warnOfCountedTwice(this.limiter, this.#warn)
    if (decision.allowed) this.#shedder?.begin(req)
    if (adapter.isSent(res)) return decision.allowed
    this.#writeHeaders(decision, adapter, res)
    return decision.allowed || this.#denials.answer(req, res, decision)
  }
}
