import { atCaller, ConfigError, fromCaller, show, toError, TollgateError } from '../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../base/promises.js'
import type { Warn } from '../base/warnings.js'
import { createLimiterFor } from '../limiter/create-limiter.js'
import { decideBlocked } from '../limiter/decision/uncounted-decision.js'
import { internalsOf } from '../limiter/internals.js'
import type { Consumer, Limiter } from '../limiter/limiter.js'
import type { OwnLimits } from '../plans/own-limits.js'
import type { Subject } from '../plans/subject.js'
import { isIpSubject, isOnlyAddress, toIpSubject, UNKNOWN, withLimits } from '../requests/subject/address.js'
import { isNone, readSubjects } from '../requests/subject/subject.js'
import type { HttpAdapter, HttpLimiter, Looked } from './adapter.js'
import { Decider, type AmendOptions } from './decider.js'
import { lastOf, type Passed } from './decisions.js'
import { MakingWatch, warnOfProxy } from './mistakes.js'
import { checkHttpOptions, checkRouteOptions } from './option-checks.js'
import {
  type LimitOf,
  type RateLimitOptions,
  type RouteOptions,
  limitFunction,
  limiterOptions,
  onTopOptions,
  routeOptions,
  scopeOptions,
} from './options.js'
import { createShedder, needKnownPlans, type Shedder } from './shedding/shedder.js'
import { isByAddress, type Identified } from './who/identify.js'
import { watchIdentity, type IdentityWatch } from './who/identity-watch.js'
import { compileList, type List } from './who/lists.js'

/**
 * Creates the limiter behind an adapter. It handles requests the same way for all frameworks: it finds the subjects and
 * the cost, gets a decision, sets the headers, and answers a denied request.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function createHttpLimiter<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  options: RateLimitOptions<Req, Res>,
): HttpLimiter<Req, Res> {
  const making = options?.limiter || options?.store ? undefined : new MakingWatch()
  return atCaller(createHttpLimiter, () => new RequestLimiter(adapter, options, { making }))
}

/** Who pays for a request. */
type Payers = readonly [Subject, ...Subject[]]

/** What a limiter was made for. */
interface Origin<Req> {
  readonly making?: MakingWatch | undefined
  /** Given for a route, as in CountedBy. Default: the limiter itself. */
  readonly family?: object
  /** Set for the part of a route that decides requests which its family has let in. */
  readonly amends?: AmendOptions<Req>
}

class RequestLimiter<Req extends object, Res> implements HttpLimiter<Req, Res> {
  readonly limiter: Limiter
  readonly isByAddress: boolean
  readonly knowsWho: boolean
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #options: RateLimitOptions<Req, Res>
  readonly #warn: Warn
  readonly #identity: IdentityWatch<Req> | undefined
  readonly #consumer: Consumer
  readonly #decider: Decider<Req, Res>
  readonly #shedder: Shedder<Req, Res> | undefined
  readonly #limitOf: LimitOf<Req> | undefined
  readonly #allowList: List<Req> | undefined
  readonly #blockList: List<Req> | undefined
  /** Addresses of requests that wait for a promise: once the client disconnects, its address cannot be read. */
  readonly #addresses = new WeakMap<Req, string | undefined>()
  readonly #family: object
  /** Whether another limiter of the family may have decided a request before. */
  #hasFamily: boolean
  /** The part of a route that decides requests which its family has let in. */
  #onTop: RequestLimiter<Req, Res> | undefined
  /** Undefined with a shared limiter or a store, since their counters outlive this object. */
  readonly #making: MakingWatch | undefined

  /** @throws {ConfigError} when an option is wrong */
  constructor(
    adapter: HttpAdapter<Req, Res>,
    options: RateLimitOptions<Req, Res>,
    { making, family = this, amends }: Origin<Req>,
  ) {
    checkHttpOptions(options, adapter)
    const { allowList, blockList, limiter, identify } = options
    this.#adapter = adapter
    this.#making = making
    this.#family = family
    this.#hasFamily = family !== this && !amends
    // A copy, so that the options cannot change after the check.
    this.#options = { ...options }
    this.#allowList = allowList === undefined ? undefined : compileList('allowList', allowList)
    this.#blockList = blockList === undefined ? undefined : compileList('blockList', blockList)
    // After all other options were checked: if one is wrong, the caller gets no limiter and so cannot close it.
    this.limiter = limiter ?? createOwnLimiter(options)
    this.#shedder = createShedder(adapter, options.shed, this.limiter)
    this.#warn = internalsOf(this.limiter).warn
    this.#limitOf = limitFunction<Req>(options)
    this.knowsWho = !isByAddress(identify)
    this.isByAddress = !this.knowsWho && !this.#limitOf
    this.#identity = watchIdentity(adapter, identify, this.limiter)
    const scope = scopeOptions(options)
    this.#consumer = Object.keys(scope).length > 0 ? this.limiter.scope(scope) : this.limiter
    this.#decider = new Decider({
      ...{ adapter, limiter: this.limiter, family, isOfRoute: family !== this, amends },
      options: this.#options,
      consumer: this.#consumer,
      addressOf: (req) => this.#ipOf(req),
      onAllowed: (req) => this.#shedder?.begin(req),
    })
  }

  admit(req: Req, res: Res): MaybePromise<boolean> {
    this.#making?.met(this.#warn)
    const before = this.#hasFamily ? lastOf(req, this.#family) : undefined
    if (before && this.#onTop) return this.#onTop.admit(req, res)
    // A route has decided it already, for everything that the route asks for.
    if (before?.by.isOfRoute) return true
    if (!isLimited(this.#adapter, req, this.#options.methods)) return this.#checkBlocked(req, res)
    const { skip } = this.#options
    if (!skip) return this.#identify(req, res)
    return chain(this.#await(req, skip(req)), (skipped) => (skipped ? true : this.#identify(req, res)))
  }

  async look(req: Req): Promise<Looked | undefined> {
    const all = readSubjects(await this.#options.identify?.(req))
    if (!all || all.every(isOnlyAddress)) return undefined
    // As for a request that is decided, the first of all gets the limits.
    const limited = this.#limitOf ? this.#withLimits(all, await this.#limitOf(req)) : all
    const known = limited.filter((one) => !isOnlyAddress(one))
    const { namePlan = true, limit } = this.#options
    return {
      subject: known[0] as Subject,
      list: await this.#listOf(req, all),
      namePlan: namePlan && (limit === undefined || this.#limitOf !== undefined),
      see: () => internalsOf(this.limiter).look(this.#consumer, known),
    }
  }

  async #listOf(req: Req, subjects: Payers): Promise<Looked['list']> {
    const address = this.#ipOf(req)
    if (await this.#allowList?.has(subjects, address, req)) return 'allowList'
    return (await this.#blockList?.has(subjects, address, req)) ? 'blockList' : undefined
  }

  route(own: RouteOptions<Req, Res>, path = ''): HttpLimiter<Req, Res> {
    try {
      checkRouteOptions(own)
      const options = routeOptions(this.#options, own, this.limiter)
      // Another limiter counts apart from this one.
      if (own.limiter !== undefined) return new RequestLimiter(this.#adapter, options, {})
      const family = this.#family
      this.#hasFamily = true
      const route = new RequestLimiter(this.#adapter, options, { family })
      route.#onTop = this.#createOnTop(own)
      return route
    } catch (error) {
      throw fromCaller(
        error instanceof ConfigError ? error.within(path) : error,
        RequestLimiter.prototype.route,
      )
    }
  }

  #createOnTop(own: RouteOptions<Req, Res>): RequestLimiter<Req, Res> {
    const { limiter } = this
    const family = this.#family
    const firstFor = (req: Req): Passed | undefined => lastOf(req, family)
    const { requestProperty: property = 'rateLimit' } = this.#options
    const amends = { firstFor, property, own: limiter.scope(scopeOptions({ ...own, limiter })) }
    const options = onTopOptions(this.#options, own, { limiter, firstFor })
    return new RequestLimiter(this.#adapter, options, { family, amends })
  }

  /** Keeps the client's address while a promise is pending, since the client may disconnect meanwhile. Returns `given`. */
  #await<T>(req: Req, given: T): T {
    if (isPromise(given)) this.#addresses.set(req, this.#ipOf(req))
    return given
  }

  #ipOf(req: Req): string | undefined {
    return this.#addresses.has(req) ? this.#addresses.get(req) : this.#adapter.ip(req)
  }

  #identify(req: Req, res: Res): MaybePromise<boolean> {
    const found = this.#options.identify?.(req)
    // Here and below, no closure is created for a request that waits for nothing.
    if (!isPromise(found)) return this.#decide(req, res, found)
    return chain(this.#await(req, found), (identified) => this.#decide(req, res, identified))
  }

  #decide(req: Req, res: Res, identified: Identified | readonly Identified[]): MaybePromise<boolean> {
    const found = readSubjects(identified)
    this.#identity?.met(req, res, found)
    const subjects = found ?? ([toIpSubject(this.#ipOf(req))] as const)
    if (subjects.some(isIpSubject)) warnOfProxy(this.#adapter, req, this.#warn)
    if (this.#allowList || this.#blockList) {
      return this.#checkLists(req, res, subjects, () => this.#consumeOrShed(req, res, subjects))
    }
    return this.#isLost(req, subjects) ? false : this.#consumeOrShed(req, res, subjects)
  }

  /** @param next decides a request that is on neither list */
  #checkLists(
    req: Req,
    res: Res,
    subjects: Payers,
    next: () => MaybePromise<boolean>,
  ): MaybePromise<boolean> {
    const address = this.#ipOf(req)
    const isOn = (list: List<Req> | undefined): MaybePromise<boolean> =>
      list ? list.has(subjects, address, req) : false
    return chain(isOn(this.#allowList), (isAllowed) => {
      if (isAllowed) return true
      return chain(isOn(this.#blockList), (isBlocked) => {
        if (isBlocked) return this.#decider.refuse({ req, res }, decideBlocked(subjects[0]))
        return this.#isLost(req, subjects, address) ? false : next()
      })
    })
  }

  /**
   * Whether the client disconnected before its address could be read, and the decision needs that address. Such a request
   * ends here without an answer, since no client would read it. It must neither be let in nor count as a subject.
   */
  #isLost(req: Req, subjects: readonly Subject[], address?: string): boolean {
    const isUnchecked = !address && this.#blockList?.hasAddresses
    return (isUnchecked || subjects.some(isUnknown)) && this.#adapter.hasLeft(req)
  }

  /**
   * The block list also applies to requests with methods that are not limited. It is checked for their address only,
   * since such requests (CORS preflights, for example) may carry no credentials.
   */
  #checkBlocked(req: Req, res: Res): MaybePromise<boolean> {
    if (!this.#blockList) return true
    return this.#checkLists(req, res, [toIpSubject(this.#ipOf(req))], () => true)
  }

  #consumeOrShed(req: Req, res: Res, subjects: Payers): MaybePromise<boolean> {
    if (!this.#shedder) return this.#limit(req, res, subjects)
    const refusal = this.#await(req, this.#shedder.refusal(req, res, subjects[0]))
    return chain(refusal, (shed) =>
      shed ? this.#decider.refuse({ req, res }, shed) : this.#limit(req, res, subjects),
    )
  }

  #limit(req: Req, res: Res, subjects: Payers): MaybePromise<boolean> {
    if (!this.#limitOf) return this.#consume(req, res, subjects)
    const limits = this.#await(req, this.#limitOf(req))
    return chain(limits, (own) => this.#consume(req, res, this.#withLimits(subjects, own)))
  }

  /** Puts the limits that the option `limit` returned on the subject that pays. */
  #withLimits([payer, ...others]: Payers, limits: OwnLimits | null | undefined): Payers {
    if (!isNone(limits)) return [withLimits(payer, limits), ...others]
    const hasNoPlans = internalsOf(this.limiter).planNames()?.length === 0
    if (!isNone(payer.limits) || !hasNoPlans) return [payer, ...others]
    const expected = "limits such as '40/min' or ['40/min', '1000/day'], or 'unlimited'"
    const message = `limit: the function returned ${show(limits)}, expected ${expected}; to use the subject's plan, give plans, too`
    throw new TollgateError('ERR_TOLLGATE_SUBJECT', message)
  }

  #consume(req: Req, res: Res, subjects: Payers): MaybePromise<boolean> {
    const { cost = 1 } = this.#options
    const units = typeof cost === 'function' ? cost(req) : cost
    if (!isPromise(units)) return this.#decider.decide({ req, res }, subjects, units)
    return chain(units, (known) => this.#decider.decide({ req, res }, subjects, known))
  }
}

/** Creates the limiter of a middleware that was given none. */
function createOwnLimiter<Req, Res>(options: RateLimitOptions<Req, Res>): Limiter {
  const defaultFor = options.identify ? {} : { defaultFor: 'client addresses, since there is no identify' }
  const checkPlans = (names: readonly string[]): void => needKnownPlans(options.shed, names)
  const scope = scopeOptions(options)
  const isWithoutPlans = limitFunction(options) !== undefined && !('plans' in options)
  return createLimiterFor(limiterOptions(options), { ...defaultFor, scope, checkPlans, isWithoutPlans })
}

/** @param methods the option; undefined: all except CORS preflight requests */
function isLimited<Req extends object, Res>(
  { method, header }: HttpAdapter<Req, Res>,
  req: Req,
  methods: readonly string[] | undefined,
): boolean {
  const name = method(req)
  // Frameworks run the handler of GET for HEAD, too, and it costs as much.
  if (methods) return methods.includes(name) || (name === 'HEAD' && methods.includes('GET'))
  // Browsers send both headers with a preflight. With only one it is an ordinary request.
  return name !== 'OPTIONS' || !header(req, 'origin') || !header(req, 'access-control-request-method')
}

function isUnknown({ id, kind }: Subject): boolean {
  return kind === 'ip' && id === UNKNOWN
}

/**
 * Decides a request in a framework that continues by calling `next`, such as Express.
 *
 * @param next called without an argument to continue, and with an error if `admit` threw or rejected. Not called if the
 *             request was answered
 */
export function admitThen<Req, Res>(
  http: HttpLimiter<Req, Res>,
  req: Req,
  res: Res,
  next: (thrown?: object) => void,
): void {
  let admitted
  try {
    admitted = http.admit(req, res)
  } catch (error) {
    next(toThrown(error))
    return
  }
  // `next` is called outside the try block: an error thrown by the application must not be passed to `next` again.
  if (admitted === true) next()
  else if (admitted !== false) goOn(admitted, next)
}

function goOn(pending: Promise<boolean>, next: (thrown?: object) => void): void {
  pending.then(
    (admitted) => {
      if (admitted) next()
    },
    (error: unknown) => next(toThrown(error)),
  )
}

/**
 * Prepares a value that a user's function threw for a framework's error handling. Objects stay as they are, since
 * frameworks read their `statusCode`. Other values become an Error: in Express `next(undefined)` means success, and
 * `next('route')` skips a route.
 */
export function toThrown(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null ? thrown : toError(thrown)
}
