import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Decision } from '../../limiter/decision/decision.js'
import { decideShed } from '../../limiter/decision/uncounted-decision.js'
import { internalsOf, type Internals } from '../../limiter/internals.js'
import type { Limiter } from '../../limiter/limiter.js'
import type { Subject } from '../../plans/subject.js'
import type { HttpAdapter } from '../adapter.js'
import type { Delays } from './loop-delay.js'
import { monitorOfProcess, type Monitor } from './monitor.js'
import { needKnownPlans, readShed, type Shedding, type ShedOption } from './shed-option.js'

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
    // If all plans are named, the last of them may use all there is.
    const areAllNamed = this.#internals.planNames()?.every((name) => this.#ranks.has(name)) ?? false
    this.#lastRank = areAllNamed ? plans.length - 1 : plans.length
  }

  /**
   * Counts the request from now on, or refuses it.
   *
   * @param subject the one that pays
   * @returns       the denial of a request that is refused; undefined when it is let in
   */
  refusal(req: Req, res: Res, subject: Subject): MaybePromise<Decision | undefined> {
    if (this.#monitor.has(req)) return undefined
    const exempt = this.#shedding.exempt?.(req)
    if (isPromise(exempt)) return chain(exempt, (yes) => (yes ? undefined : this.#decide(req, res, subject)))
    return exempt ? undefined : this.#decide(req, res, subject)
  }

  #decide(req: Req, res: Res, subject: Subject): MaybePromise<Decision | undefined> {
    // Where even the first plan is let in the plan need not be known, so most requests look none up.
    if (this.#isLetIn(0)) return this.#enter(req, res)
    return chain(this.#internals.planOf(subject), (plan) => {
      const rank = this.#ranks.get(plan ?? '') ?? this.#lastRank
      if (this.#isLetIn(Math.min(rank, this.#lastRank))) return this.#enter(req, res)
      return this.#refuse(subject, plan ?? '')
    })
  }

  /** The limits let a request in, so the application begins to work. */
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
 * @param given the option `shed`, checked before but for the names of plans
 * @throws {ConfigError} when a plan that it names does not exist
 */
export function shedderOf<Req extends object, Res>(
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

/** How busy the process is. */
export interface Load extends Delays {
  /** Requests in flight, without the one that is asked about. */
  readonly inFlight: number
  /** The limit of the gradient. */
  readonly limit: number
}

/** From when on a limiter refuses. */
export interface Bounds {
  readonly maxInFlight: number
  readonly maxDelayMs: number
}

/**
 * Whether a request is let in, by trunk reservation: a telephone exchange accepts calls of less value only while more
 * than a reserve of its lines is free. Of `ranks` ranks, rank 0 is let in up to an equal share of the limit, the next
 * up to two shares, the last up to all of it. So when one is refused, all before it in the order are refused, too.
 *
 * @param rank the place of the request's plan in the order: 0 is refused first
 */
export function isLetIn(load: Load, bounds: Bounds, rank: number, ranks: number): boolean {
  const share = (rank + 1) / ranks
  const limit = Math.min(load.limit, bounds.maxInFlight)
  // With nothing in flight nothing can be overloaded by requests, so one of each plan passes.
  const hasRoom = load.inFlight === 0 || load.inFlight < limit * share
  // The last plan is judged by this turn of the event loop alone: a long one would refuse all that comes in the next.
  const delayMs = rank === ranks - 1 ? load.delayMs : Math.max(load.delayMs, load.beforeMs)
  return hasRoom && delayMs <= bounds.maxDelayMs * share
}

/** The most requests in flight of the last rank; undefined while there is no limit. */
export function limitOf({ limit }: Load, { maxInFlight }: Bounds): number | undefined {
  const least = Math.min(limit, maxInFlight)
  return least === Infinity ? undefined : Math.floor(least)
}
