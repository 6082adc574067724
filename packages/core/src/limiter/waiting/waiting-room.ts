import type { Timing } from '../../base/clocks.js'
import { chain, type MaybePromise } from '../../base/promises.js'
import type { WaitTerms } from '../../plans/limit/limit-set.js'
import type { Request, Verdict } from '../../requests/request.js'
import type { BlockInForce } from '../../requests/rule-lookup.js'
import type { HoldOutcome } from '../../stores/contract.js'
import type { Decision } from '../decision/decision.js'
import { isHeld } from '../../features/holds/hold.js'
import { Departures } from './departures.js'
import { Lines, type InLine, Seats } from './lines.js'
import type { WaitingChange, WaitingStats } from './waiting-change.js'

/** What a waiting room can ask of the pipeline. */
export interface WaitingHost {
  /** Whether the store is not asked now: then no request waits. */
  isRefused(request: Request): boolean
  /** Has a request decided, by the store or its fallback. Never rejects. */
  ask(request: Request): MaybePromise<Verdict>
  /** Makes the decision, counts it and emits it. */
  conclude(request: Request, verdicts: readonly Verdict[]): Decision
  /** Gives units of a verdict back. Never rejects. */
  giveBack(verdict: Verdict, units: number): Promise<unknown>
  /** The rule by which a subject of a request is blocked now. */
  blockOf(request: Request): BlockInForce | undefined
}

interface WaitingRoomOptions {
  /** Makes the id of a place. */
  readonly newId: () => string
  readonly timing: Timing
  readonly emit: (change: WaitingChange) => void
}

/** A request that may wait. */
interface Visit {
  readonly request: Request
  readonly terms: WaitTerms
  readonly key: string
  readonly sinceMs: number
}

/** A request with a place. */
interface Waiter extends InLine {
  readonly visit: Visit
  /** The store's verdict, which booked the place. */
  readonly verdict: Verdict
  readonly delayMs: number
  /** Until when its place can be used, in ms of this process's clock. */
  readonly endsAtMs: number
  readonly resolve: (decision: MaybePromise<Decision>) => void
  readonly reject: (reason: unknown) => void
  readonly onAbort: () => void
}

/** A request with less of its delay left than this, in µs, does not ask for a place. */
const SHORTEST_US = 1000

/** Where requests wait until the time of the place that the store booked for them. One timer wakes them all. */
export class WaitingRoom {
  readonly #host: WaitingHost
  readonly #newId: () => string
  readonly #timing: Timing
  readonly #emit: WaitingRoomOptions['emit']
  readonly #counts = { booked: 0, admitted: 0, left: 0, late: 0, closed: 0, refused: 0, blocked: 0 }
  readonly #seats = new Seats()
  readonly #lines = new Lines<Waiter>()
  readonly #departures = new Departures()
  #cancelTimer = (): void => {}
  #wakesAtMs = Infinity
  /** Requests that ask or wait, and units on their way back: `close` waits for them. */
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(host: WaitingHost, { newId, timing, emit }: WaitingRoomOptions) {
    this.#host = host
    this.#newId = newId
    this.#timing = timing
    this.#emit = emit
  }

  stats(): WaitingStats {
    return { now: this.#lines.size, ...this.#counts }
  }

  /** How many requests wait or ask for a place, for tests. */
  get seated(): number {
    return this.#seats.taken
  }

  /**
   * Gets a decision for a request that may wait. Rejects with the reason of the request's signal if that aborts meanwhile.
   *
   * @returns undefined if the request must not wait, or too many wait already. Then it is decided as usual
   */
  join(request: Request): MaybePromise<Decision> | undefined {
    const terms = waitTermsFor(request)
    if (!terms || this.#isClosed || this.#host.isRefused(request)) return undefined
    const { waitedMs = 0 } = request
    const leftUs = terms.delayUs - waitedMs * 1000
    if (leftUs < SHORTEST_US) return undefined
    const key = waitingKey(request)
    if (!this.#seats.take(key)) {
      this.#counts.refused += 1
      return undefined
    }
    const decided = this.#ask({ request, terms, key, sinceMs: this.#timing.now() - waitedMs }, leftUs)
    if (decided instanceof Promise) this.#track(decided)
    return decided
  }

  /** Denies all requests that wait. Resolves when their units went back, as far as the store answers. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#sleep()
    for (const waiter of this.#lines.takeAll()) this.#turnAway(waiter)
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Denies requests of subjects that are blocked now. */
  turnBlockedAway(): void {
    for (const waiter of this.#lines.all()) {
      const block = this.#host.blockOf(waiter.visit.request)
      if (block && this.#lines.remove(waiter)) this.#deny(waiter, block)
    }
    if (this.#lines.size === 0) this.#sleep()
    else this.#wakeLater()
  }

  #deny(waiter: Waiter, block: BlockInForce): void {
    const { visit, verdict } = waiter
    this.#goOut(waiter, 'blocked')
    waiter.resolve(this.#blocked(visit.request, block))
    this.#track(this.#giveBack(verdict))
  }

  #blocked(given: Request, block: BlockInForce): Decision {
    const request: Request = { ...given, parts: [], limits: [], block }
    return this.#host.conclude(request, [{ source: 'rule', allowed: false, step: request }])
  }

  #track(promise: Promise<unknown>): void {
    const done = (): void => void this.#underWay.delete(promise)
    this.#underWay.add(promise)
    promise.then(done, done)
  }

  #ask(visit: Visit, lengthUs: number): MaybePromise<Decision> {
    const { slackUs, most } = visit.terms
    const hold = { kind: 'place', id: this.#newId(), lengthUs: Math.floor(lengthUs), slackUs, most } as const
    const sentAtMs = this.#timing.now()
    return chain(this.#host.ask({ ...visit.request, grant: 'all', order: undefined, hold }), (verdict) => {
      if (verdict.source === 'store' && isHeld(verdict)) return this.#book(visit, verdict, sentAtMs)
      if (verdict.source === 'store' && !verdict.allowed) this.#counts.refused += 1
      return this.#conclude(visit, verdict)
    })
  }

  /** Ends the visit of a request that got no place. */
  #conclude({ request, key }: Visit, verdict: Verdict): Decision {
    this.#seats.free(key)
    return this.#decide(request, verdict)
  }

  /** The request holds its slots while it waits. */
  #decide(request: Request, verdict: Verdict): Decision {
    const { inFlight, parts } = verdict.step
    return this.#host.conclude(inFlight ? { ...request, parts, inFlight } : request, [verdict])
  }

  #giveBack(verdict: Verdict): Promise<unknown> {
    verdict.step.inFlight?.conclude(false)
    return this.#host.giveBack(verdict, verdict.step.cost)
  }

  #book(visit: Visit, verdict: Verdict, sentAtMs: number): Promise<Decision> {
    const { at, hold } = verdict.outcome as { at: number; hold: HoldOutcome }
    const delayMs = hold.delayUs / 1000
    return new Promise((resolve, reject) => {
      const nowMs = this.#timing.now()
      const wakeAtMs = nowMs + delayMs
      const endsAtMs = sentAtMs + hold.endsInUs / 1000
      const waiter: Waiter = {
        ...{ key: visit.key, dueUs: at + hold.delayUs, aheadMs: [at / 1000 - nowMs, at / 1000 - sentAtMs] },
        ...{ wakeAtMs, latestMs: (wakeAtMs + endsAtMs) / 2, endsAtMs },
        ...{ visit, verdict, delayMs, resolve, reject },
        onAbort: () => this.#leave(waiter),
      }
      this.#report('booked', waiter)
      this.#lines.add(waiter)
      const { signal } = visit.request
      if (signal) this.#departures.add(signal, waiter.onAbort)
      if (signal?.aborted) this.#leave(waiter)
      else if (this.#isClosed && this.#lines.remove(waiter)) this.#turnAway(waiter)
      // The block may have come while the store was asked.
      else if (this.#host.blockOf(visit.request)) this.turnBlockedAway()
      else this.#wakeLater()
    })
  }

  #wakeLater(): void {
    const atMs = this.#lines.nextMs()
    if (atMs >= this.#wakesAtMs || atMs === Infinity) return
    this.#cancelTimer()
    this.#wakesAtMs = atMs
    const ms = Math.max(Math.ceil(atMs - this.#timing.now()), 1)
    // A process must not exit while its only request waits.
    this.#cancelTimer = this.#timing.after(ms, () => this.#wake(), true)
  }

  #wake(): void {
    this.#wakesAtMs = Infinity
    const nowMs = this.#timing.now()
    for (const waiter of this.#lines.takeDue(nowMs)) {
      if (nowMs > waiter.endsAtMs) this.#askAgain(waiter)
      else this.#admit(waiter, nowMs)
    }
    this.#wakeLater()
  }

  #admit(waiter: Waiter, nowMs: number): void {
    const { visit, verdict } = waiter
    const block = this.#host.blockOf(visit.request)
    if (block) return this.#deny(waiter, block)
    this.#goOut(waiter, 'admitted')
    waiter.resolve(this.#decide(visit.request, usedPlace(verdict, Math.round(nowMs - visit.sinceMs))))
  }

  #leave(waiter: Waiter): void {
    if (!this.#lines.remove(waiter)) return
    this.#goOut(waiter, 'left')
    if (this.#lines.size === 0) this.#sleep()
    else this.#wakeLater()
    this.#track(this.#giveBack(waiter.verdict))
    waiter.reject(waiter.visit.request.signal?.reason)
  }

  #turnAway(waiter: Waiter): void {
    const { visit, verdict } = waiter
    this.#goOut(waiter, 'closed')
    const nowMs = this.#timing.now()
    const denial = deniedPlace(verdict, waiter.wakeAtMs - nowMs, Math.round(nowMs - visit.sinceMs))
    waiter.resolve(this.#decide(visit.request, denial))
    this.#track(this.#giveBack(verdict))
  }

  /** When the place ended, its units may have entered the limits. So they go back before the request asks again. */
  #askAgain(waiter: Waiter): void {
    const { visit, verdict } = waiter
    const { request, terms, key, sinceMs } = visit
    const { signal } = request
    this.#goOut(waiter, 'late', true)
    const again = this.#giveBack(verdict).then((): MaybePromise<Decision> => {
      const block = signal?.aborted ? undefined : this.#host.blockOf(request)
      if (block) {
        this.#seats.free(key)
        return this.#blocked(request, block)
      }
      const leftUs = terms.delayUs - (this.#timing.now() - sinceMs) * 1000
      if (!this.#isClosed && !signal?.aborted && leftUs >= SHORTEST_US) return this.#ask(visit, leftUs)
      if (signal?.aborted) this.#seats.free(key)
      signal?.throwIfAborted()
      return chain(this.#host.ask(request), (found) => this.#conclude(visit, found))
    })
    waiter.resolve(again)
  }

  #goOut(waiter: Waiter, kind: WaitingChange['kind'], isBack = false): void {
    const { visit, onAbort } = waiter
    if (visit.request.signal) this.#departures.remove(visit.request.signal, onAbort)
    if (!isBack) this.#seats.free(visit.key)
    this.#report(kind, waiter)
  }

  #sleep(): void {
    this.#cancelTimer()
    this.#wakesAtMs = Infinity
  }

  #report(kind: WaitingChange['kind'], { visit, delayMs }: Waiter): void {
    const { subject, plan } = visit.request
    this.#counts[kind] += 1
    this.#emit({ kind, subject, plan: plan.name, delayMs: Math.ceil(delayMs) })
  }
}

/**
 * The terms on which a request waits, the strictest of its parts; undefined if it does not wait. A request in several
 * steps never waits, because its places would have different times.
 */
function waitTermsFor({ parts, steps, hold }: Request): WaitTerms | undefined {
  if (steps || hold) return undefined
  let terms: WaitTerms | undefined
  for (const { set } of parts) {
    if (set.wait) terms = terms ? strictest(terms, set.wait) : set.wait
  }
  return terms
}

function strictest(a: WaitTerms, b: WaitTerms): WaitTerms {
  return {
    delayUs: Math.min(a.delayUs, b.delayUs),
    slackUs: Math.min(a.slackUs, b.slackUs),
    most: Math.min(a.most, b.most),
  }
}

/** The key of the line that a request waits in. */
function waitingKey({ parts }: Request): string {
  return parts.find(({ set }) => set.wait)?.key ?? ''
}

/** The verdict for a request whose place has come. */
function usedPlace({ step, outcome }: Verdict, waitedMs: number): Verdict {
  return { source: 'place', allowed: true, step, ...(outcome && { outcome }), waitedMs }
}

/**
 * The verdict for a request that has to leave before the time of its place. The limits that made it wait are those with
 * nothing left.
 *
 * @param restMs how long it would still have waited
 */
function deniedPlace({ step, outcome }: Verdict, restMs: number, waitedMs: number): Verdict {
  const { at = 0, limits = [] } = outcome ?? {}
  const wait = Math.ceil(Math.max(restMs, 1) * 1000)
  const isAny = limits.some(({ remaining }) => remaining === 0)
  const denied = limits.map((limit) => ({ ...limit, wait: !isAny || limit.remaining === 0 ? wait : 0 }))
  return { source: 'place', allowed: false, step, outcome: { at, limits: denied }, waitedMs }
}
