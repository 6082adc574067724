import { ConfigError } from '../../base/errors.js'
import { expectedName, isOptions, needOptions, needWhole } from '../../base/options.js'
import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Decision } from '../../limiter/decision/decision.js'
import { decideShed } from '../../limiter/decision/uncounted-decision.js'
import { internalsOf, type Internals } from '../../limiter/internals.js'
import type { Limiter } from '../../limiter/limiter.js'
import type { Subject } from '../../plans/subject.js'
import type { HttpAdapter } from '../adapter.js'
import { monitorOfProcess, type Load, type Monitor } from './monitor.js'

/** Which requests are refused while this process is overloaded. */
export interface ShedOptions<Req = unknown> {
  /** Names of plans, in the order in which they are refused. Plans that are not named are refused last, together. */
  readonly plans?: readonly string[] | undefined
  /**
   * The most requests in flight in this process. Tollgate also measures a limit, and the lower one holds. Default: only the
   * measured limit.
   */
  readonly maxInFlight?: number | undefined
  /** How late the event loop may be, in ms, from 10 to 60 000. While it is later, nothing is let in. Default: 50. */
  readonly maxDelayMs?: number | undefined
  /** Returns true for requests that are never refused for overload and not counted, such as health checks. It may be async. */
  readonly exempt?: ((req: Req) => MaybePromise<boolean>) | undefined
}

/** Names of plans, in the order in which they are refused; or options; or false for never. */
export type ShedOption<Req = unknown> = readonly string[] | ShedOptions<Req> | false

/** Beyond these a limiter refuses requests. */
export interface Bounds {
  readonly maxInFlight: number
  readonly maxDelayMs: number
}

/** The option `shed` with its defaults. */
interface Shedding<Req> extends Bounds {
  readonly plans: readonly string[]
  readonly exempt: ((req: Req) => MaybePromise<boolean>) | undefined
}

const SUCH = "plans in the order in which they are refused, such as ['free', 'starter']"

/** @throws {ConfigError} when it is wrong; `needKnownPlans` checks whether the plans exist */
export function readShed<Req>(given: ShedOption<Req>): Shedding<Req> | undefined {
  if (given === false) return undefined
  if (!Array.isArray(given) && !isOptions(given)) {
    throw ConfigError.wrong('shed', given, `${SUCH}, or {} to refuse all plans alike`)
  }
  const options = (Array.isArray(given) ? { plans: given } : given) as ShedOptions<Req>
  needOptions(options, ['plans', 'maxInFlight', 'maxDelayMs', 'exempt'], 'shed')
  const { plans, maxInFlight, maxDelayMs = 50, exempt } = options
  if (plans !== undefined) needNames(plans, pathOf(given))
  needWhole('shed.maxInFlight', maxInFlight, { least: 1, most: 1_000_000 })
  needWhole('shed.maxDelayMs', maxDelayMs, { least: 10, most: 60_000 })
  if (exempt !== undefined && typeof exempt !== 'function') {
    throw ConfigError.wrongSecret('shed.exempt', exempt, "a function: (req) => req.path === '/health'")
  }
  return { plans: [...(plans ?? [])], maxInFlight: maxInFlight ?? Infinity, maxDelayMs, exempt }
}

/** @throws {ConfigError} when a plan does not exist; a plan that `setPlans` removes later never matches */
export function needKnownPlans(given: ShedOption<never> | undefined, names: readonly string[]): void {
  const { plans = [] } = (given && readShed(given)) || {}
  plans.forEach((name, i) => {
    if (names.includes(name)) return
    throw ConfigError.wrong(`${pathOf(given)}[${i}]`, name, expectedName(name, names, 'the name of a plan'))
  })
}

/** Where the user wrote the names. */
function pathOf(given: ShedOption<never> | undefined): string {
  return Array.isArray(given) ? 'shed' : 'shed.plans'
}

function needNames(given: unknown, path: string): void {
  if (!Array.isArray(given)) throw ConfigError.wrong(path, given, SUCH)
  if (given.length === 0) {
    throw ConfigError.wrong(path, given, `${SUCH}; to refuse all plans alike write shed: {}`)
  }
  Array.from(given).forEach((name: unknown, i) => {
    if (typeof name !== 'string' || name === '') {
      throw ConfigError.wrong(`${path}[${i}]`, name, "the name of a plan, such as 'free'")
    }
    const first = given.indexOf(name)
    if (first === i) return
    throw ConfigError.wrong(`${path}[${i}]`, name, `each plan once; it is at ${path}[${first}] already`)
  })
}

/** Refuses requests while this process is overloaded, before their limits are asked. */
export class Shedder<Req extends object, Res> {
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #shedding: Shedding<Req>
  readonly #ranks: ReadonlyMap<string, number>
  readonly #lastRank: number
  readonly #internals: Internals
  readonly #monitor: Monitor

  constructor(adapter: HttpAdapter<Req, Res>, shedding: Shedding<Req>, limiter: Limiter) {
    this.#adapter = adapter
    this.#shedding = shedding
    this.#internals = internalsOf(limiter)
    this.#monitor = monitorOfProcess()
    const { plans } = shedding
    this.#ranks = new Map(plans.map((name, rank) => [name, rank]))
    // If all plans are named, the last of them may use the whole limit.
    const areAllNamed = this.#internals.planNames()?.every((name) => this.#ranks.has(name)) ?? false
    this.#lastRank = areAllNamed ? plans.length - 1 : plans.length
  }

  /**
   * Lets the request in and counts it from now on, or refuses it.
   *
   * @param subject the one that pays
   * @returns       the denial if the request is refused; undefined if it is let in
   */
  refusal(req: Req, res: Res, subject: Subject): MaybePromise<Decision | undefined> {
    if (this.#monitor.has(req)) return undefined
    const exempt = this.#shedding.exempt?.(req)
    if (isPromise(exempt)) return chain(exempt, (yes) => (yes ? undefined : this.#decide(req, res, subject)))
    return exempt ? undefined : this.#decide(req, res, subject)
  }

  #decide(req: Req, res: Res, subject: Subject): MaybePromise<Decision | undefined> {
    // If even the plan that is refused first is let in, the request's plan does not matter. So most requests look none up.
    if (this.#isLetIn(0)) return this.#enter(req, res)
    return chain(this.#internals.planOf(subject), (plan) => {
      const rank = this.#ranks.get(plan ?? '') ?? this.#lastRank
      if (this.#isLetIn(Math.min(rank, this.#lastRank))) return this.#enter(req, res)
      return this.#refuse(subject, plan ?? '')
    })
  }

  /** The limits let a request in, so the application starts to work on it. */
  begin(req: Req): void {
    this.#monitor.begin(req)
  }

  #isLetIn(rank: number): boolean {
    return isLetIn(this.#monitor.load(), this.#shedding, rank, this.#lastRank + 1)
  }

  #enter(req: Req, res: Res): undefined {
    this.#adapter.onEnd(res, this.#monitor.enter(req))
  }

  #refuse(subject: Subject, plan: string): Decision {
    const load = this.#monitor.load()
    const { inFlight, delayMs } = load
    this.#monitor.refused()
    this.#internals.shed({ subject, plan, inFlight, limit: limitOf(load, this.#shedding), delayMs })
    return decideShed(subject, plan)
  }
}

/**
 * The shedder for the option `shed`; undefined if nothing is refused.
 *
 * @param given checked before, except for the names of plans
 * @throws {ConfigError} when a plan that it names does not exist
 */
export function createShedder<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  given: ShedOption<Req> | undefined,
  limiter: Limiter,
): Shedder<Req, Res> | undefined {
  const shedding = given === undefined ? undefined : readShed(given)
  if (given === undefined || !shedding) return undefined
  const names = internalsOf(limiter).planNames()
  if (names) needKnownPlans(given, names)
  return new Shedder(adapter, shedding, limiter)
}

/**
 * Whether a request is let in, by trunk reservation: a telephone exchange accepts less important calls only while more
 * than a reserve of its lines is free. The limit is divided into equal shares, one for each rank. Rank 0 is let in up to
 * one share, the next up to two, and the last up to the whole limit. So if a rank is refused, all before it are, too.
 *
 * @param rank the position of the request's plan in the order: 0 is refused first
 */
export function isLetIn(load: Load, bounds: Bounds, rank: number, ranks: number): boolean {
  const share = (rank + 1) / ranks
  const limit = Math.min(load.limit, bounds.maxInFlight)
  // With nothing in flight, requests cannot be what overloads the process. So there is room for one, whatever its plan.
  const hasRoom = load.inFlight === 0 || load.inFlight < limit * share
  // The last plan is judged by the current turn alone. Otherwise one long turn would refuse all requests of the next.
  const delayMs = rank === ranks - 1 ? load.delayMs : Math.max(load.delayMs, load.beforeMs)
  return hasRoom && delayMs <= bounds.maxDelayMs * share
}

/** How many requests can be in flight before even the last rank is refused; undefined while there is no limit. */
export function limitOf({ limit }: Load, { maxInFlight }: Bounds): number | undefined {
  const least = Math.min(limit, maxInFlight)
  return least === Infinity ? undefined : Math.floor(least)
}
