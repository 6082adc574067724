import { atCaller, fromCaller, ConfigError } from '../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../base/promises.js'
import { type Warn, isSilent } from '../base/warnings.js'
import { createLimiterFor } from '../limiter/create-limiter.js'
import { decideBlocked } from '../limiter/decision/uncounted-decision.js'
import { internalsOf } from '../limiter/internals.js'
import type { Limiter } from '../limiter/limiter.js'
import type { Subject } from '../plans/subject.js'
import { readSubjects } from '../requests/subject/subject.js'
import type { HttpAdapter, HttpLimiter } from './adapter.js'
import { Deciding, type GoingOn } from './deciding.js'
import { lastOf, type Passed } from './decisions.js'
import { MakingWatch } from './mistakes.js'
import { checkHttpOptions, checkRouteOptions } from './option-checks.js'
import {
  onTopOptions,
  routeOptions,
  scopeOptions,
  type RouteOptions,
  type RateLimitOptions,
  limiterOptions,
} from './options.js'
import { createShedder, needKnownPlans, type Shedder } from './shedding/shedder.js'
import { isByAddress, isIp, isUnknownIp, subjectOfAddress, type Identified } from './who/identify.js'
import { watchIdentity, type IdentityWatch } from './who/identity-watch.js'
import { isLimited } from './who/limited-methods.js'
import { limitOfRequest, LimitsOfRequest } from './who/limits-of-request.js'
import { compileList, type List } from './who/lists.js'

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
  const making = options?.limiter || options?.store ? undefined : new MakingWatch()
  return atCaller(createHttpLimiter, () => new RequestLimiter(adapter, options, { making }))
}

/** What is known of a limiter beside its options. */
interface Origin<Req> {
  readonly making?: MakingWatch | undefined
  /** Of a route: as in CountedBy. Default: the limiter itself. */
  readonly family?: object
  /** Of a route, for requests that its family has let in. */
  readonly goingOn?: GoingOn<Req>
}

class RequestLimiter<Req extends object, Res> implements HttpLimiter<Req, Res> {
  readonly limiter: Limiter
  readonly isByAddress: boolean
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #options: RateLimitOptions<Req, Res>
  readonly #warn: Warn
  readonly #identity: IdentityWatch<Req> | undefined
  readonly #deciding: Deciding<Req, Res>
  readonly #shedder: Shedder<Req, Res> | undefined
  /** Set if `limit` is a function. */
  readonly #limits: LimitsOfRequest<Req> | undefined
  readonly #allowList: List<Req> | undefined
  readonly #blockList: List<Req> | undefined
  /** The addresses of requests that wait for a promise. Once a client disconnects, its address cannot be read. */
  readonly #addresses = new WeakMap<Req, string | undefined>()
  readonly #family: object
  /** Whether requests may have been decided by another of the family before. */
  #hasFamily: boolean
  /** Of a route: for requests that its family has let in already. */
  #onTop: RequestLimiter<Req, Res> | undefined
  /** Undefined with a shared limiter or a store, since their counters outlive this object. */
  readonly #making: MakingWatch | undefined

  /** @throws {ConfigError} when an option is wrong */
  constructor(
    adapter: HttpAdapter<Req, Res>,
    options: RateLimitOptions<Req, Res>,
    { making, family = this, goingOn }: Origin<Req>,
  ) {
    checkHttpOptions(options, adapter)
    const { allowList, blockList, limiter, identify } = options
    this.#adapter = adapter
    this.#making = making
    this.#family = family
    this.#hasFamily = family !== this && !goingOn
    // A copy, so that nobody changes the options after they were checked.
    this.#options = { ...options }
    this.#allowList = allowList === undefined ? undefined : compileList('allowList', allowList)
    this.#blockList = blockList === undefined ? undefined : compileList('blockList', blockList)
    // After all else that can be wrong: nobody could close a limiter that the caller never gets.
    this.limiter = limiter ?? makeLimiter(options)
    this.#shedder = createShedder(adapter, options.shed, this.limiter)
    this.#warn = internalsOf(this.limiter).warn
    const limitOf = limitOfRequest<Req>(options)
    this.#limits = limitOf && new LimitsOfRequest(limitOf, this.limiter)
    this.isByAddress = isByAddress(identify) && !limitOf
    this.#identity = watchIdentity(adapter, identify, this.limiter)
    const scope = scopeOptions(options)
    this.#deciding = new Deciding({
      ...{ adapter, limiter: this.limiter, family, isOfRoute: family !== this, goingOn },
      options: this.#options,
      consumer: Object.keys(scope).length > 0 ? this.limiter.scope(scope) : this.limiter,
      addressOf: (req) => this.#ipOf(req),
      onAllowed: (req) => this.#shedder?.begin(req),
    })
  }

  admit(req: Req, res: Res): MaybePromise<boolean> {
    this.#making?.met(this.#warn)
    const before = this.#hasFamily ? lastOf(req, this.#family) : undefined
    if (before && this.#onTop) return this.#onTop.admit(req, res)
    // A route has come first, and asked for all.
    if (before?.by.isOfRoute) return true
    if (!isLimited(this.#adapter, req, this.#options.methods)) return this.#checkBlocked(req, res)
    const { skip } = this.#options
    if (!skip) return this.#identify(req, res)
    return chain(this.#await(req, skip(req)), (skipped) => (skipped ? true : this.#identify(req, res)))
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
      route.#onTop = this.#onTopOf(own)
      return route
    } catch (error) {
      throw fromCaller(
        error instanceof ConfigError ? error.within(path) : error,
        RequestLimiter.prototype.route,
      )
    }
  }

  #onTopOf(own: RouteOptions<Req, Res>): RequestLimiter<Req, Res> {
    const { limiter } = this
    const family = this.#family
    const firstOf = (req: Req): Passed | undefined => lastOf(req, family)
    const { requestProperty: property = 'rateLimit' } = this.#options
    const goingOn = { firstOf, property, own: limiter.scope(scopeOptions({ ...own, limiter })) }
    const options = onTopOptions(this.#options, own, { limiter, firstOf })
    return new RequestLimiter(this.#adapter, options, { family, goingOn })
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
        if (isBlocked) return this.#deciding.refuse({ req, res }, decideBlocked(subjects[0]))
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
    return chain(refusal, (shed) =>
      shed ? this.#deciding.refuse({ req, res }, shed) : this.#limit(req, res, subjects),
    )
  }

  #limit(req: Req, res: Res, subjects: readonly [Subject, ...Subject[]]): MaybePromise<boolean> {
    if (!this.#limits) return this.#consume(req, res, subjects)
    const limited = this.#await(req, this.#limits.apply(req, subjects))
    return chain(limited, (all) => this.#consume(req, res, all))
  }

  #consume(req: Req, res: Res, subjects: readonly [Subject, ...Subject[]]): MaybePromise<boolean> {
    const { cost = 1 } = this.#options
    const units = typeof cost === 'function' ? cost(req) : cost
    if (!isPromise(units)) return this.#deciding.decide({ req, res }, subjects, units)
    return chain(units, (known) => this.#deciding.decide({ req, res }, subjects, known))
  }
}

/** The limiter of a middleware that shares none. */
function makeLimiter<Req, Res>(options: RateLimitOptions<Req, Res>): Limiter {
  const defaultFor = options.identify ? {} : { defaultFor: 'client addresses, since there is no identify' }
  const checkPlans = (names: readonly string[]): void => needKnownPlans(options.shed, names)
  const scope = scopeOptions(options)
  const isWithoutPlans = limitOfRequest(options) !== undefined && !('plans' in options)
  return createLimiterFor(limiterOptions(options), { ...defaultFor, scope, checkPlans, isWithoutPlans })
}

/** The frameworks that were warned about. Kept per process, since all limiters depend on the same setting. */
const toldOfProxy = new Set<string>()
const toldOfTrust = new Set<string>()

/**
 * Warns once per process of each of two wrong settings. If the framework does not trust the proxy in front, all clients
 * behind it count as one. If it trusts every proxy, clients can choose their address, and are never limited.
 */
function warnOfProxy<Req>(adapter: HttpAdapter<Req, never>, req: Req, warn: Warn): void {
  const { header, trustsProxy, framework } = adapter
  if (isSilent(warn)) return
  if (toldOfProxy.has(framework) && toldOfTrust.has(framework)) return
  if (!(header(req, 'x-forwarded-for') ?? header(req, 'forwarded'))) return
  if (trustsProxy(req)) warnOfTrust(adapter, req, warn)
  else warnOfNoTrust(adapter, warn)
}

function warnOfNoTrust({ framework, trustSetting }: HttpAdapter<never, never>, warn: Warn): void {
  if (toldOfProxy.has(framework)) return
  toldOfProxy.add(framework)
  warn(
    'TOLLGATE_PROXY',
    `A request came with a forwarded header, but ${framework} trusts no proxy at its address, so all clients behind one ` +
      `count as one address. If there is a proxy, say so, such as by ${trustSetting}; if not, a client made the header up.`,
  )
}

function warnOfTrust<Req>(adapter: HttpAdapter<Req, never>, req: Req, warn: Warn): void {
  const { framework, trustSetting, trustsAll } = adapter
  if (toldOfTrust.has(framework) || !trustsAll?.(req)) return
  toldOfTrust.add(framework)
  warn(
    'TOLLGATE_TRUST',
    `${framework} trusts every proxy, so a client that makes up an X-Forwarded-For for each request is never limited by its ` +
      `address. Say how many proxies are yours, or which networks they are in, such as ${trustSetting}.`,
  )
}
