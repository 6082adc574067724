import { GenerationalCache } from '../../base/generational-cache.js'
import { clearTimeout, elapsedMs, setTimeout } from '../../base/timers.js'
import type { Part, Request } from '../../requests/request.js'
import { isTaken, type Verdict } from '../../requests/verdict.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'
import type { FastPath, FastPathHost, ForgetReason } from '../fast-path.js'
import { Demand } from './demand.js'
import { LeaseHolder } from './lease-holder.js'
import type { LeaseUse } from './lease-use.js'
import { HOT_REQUESTS, isGrantable } from './sizes.js'

/** Subjects that are watched for being hot, at most; and those that can hold leases. */
const MOST_WATCHED = 10_000
const MOST_HOLDERS = 1000
/** How often leases are looked after, in parts of the shortest lease, and in ms. */
const PART_OF_LEASE = 8
const [SHORTEST_SWEEP_MS, LONGEST_SWEEP_MS] = [2, 25]

/** How many requests a subject has made lately, while it holds no lease. */
interface Watch {
  requests: number
  units: number
  sinceMs: number
}

/**
 * Serves busy subjects from units that were taken in advance, on plans with `lease`. A subject on any other plan, or with
 * few requests, is never asked for.
 */
export class Leases implements FastPath {
  readonly #newId: () => string
  readonly #clock: () => number
  readonly #watched = new GenerationalCache<Watch>(MOST_WATCHED)
  /** By key. */
  readonly #holders = new Map<string, LeaseHolder>()
  #host: FastPathHost | undefined
  #timer: NodeJS.Timeout | undefined
  #isEnded = false

  /** @param clock never goes back, in ms; default: the time since the process started. A test's clock that the store counts by */
  constructor(newId: () => string, clock: () => number = elapsedMs) {
    this.#newId = newId
    this.#clock = clock
  }

  start(host: FastPathHost): void {
    this.#host = host
  }

  /** How many leases are held. */
  get held(): number {
    let held = 0
    for (const holder of this.#holders.values()) held += holder.open
    return held
  }

  answer(request: Request, isPeek: boolean): Verdict | undefined {
    if (this.#holders.size === 0 || isPeek) return undefined
    const { parts } = request
    const [part] = parts
    if (parts.length !== 1 || !part) return this.#answerJoint(request)
    const holder = this.#holderOf(part)
    if (!holder) return undefined
    const now = this.#clock()
    const use = holder.serve(part.cost, now)
    if (holder.isDue(now)) this.#send(holder, holder.next(now))
    return use && { source: 'lease', allowed: true, step: request, uses: [use] }
  }

  learn({ parts, plan, grant }: Request, outcome: Outcome, _sentAtMs: number, isPeek: boolean): void {
    if (grant !== 'all' || isPeek || this.#isEnded) return
    // No lease could serve it, so none is asked for: its units would only be lost.
    if (!isTaken(outcome) || !parts.every(({ set }) => set.lease)) return
    const { limits } = outcome
    let next = 0
    for (const part of parts) {
      const end = next + part.set.limits.length
      if (part.set.lease) this.#note(part, plan, parts.length === 1 ? limits : limits.slice(next, end))
      next = end
    }
  }

  forget(reason: ForgetReason, keys?: readonly string[]): void {
    if (reason === 'refund') return
    if (reason === 'closed') this.#isEnded = true
    const now = this.#clock()
    for (const key of keys ?? [...this.#holders.keys()]) {
      const holder = this.#holders.get(key)
      if (!holder) continue
      if (reason === 'reset') holder.forget(now)
      else this.#giveBack(key, holder)
    }
    if (this.#isEnded) clearTimeout(this.#timer)
  }

  /** All parts must be served, or none is. */
  #answerJoint(request: Request): Verdict | undefined {
    const now = this.#clock()
    const uses: LeaseUse[] = []
    for (const part of request.parts) {
      const use = this.#holderOf(part)?.serve(part.cost, now)
      if (!use) break
      uses.push(use)
    }
    const isServed = uses.length === request.parts.length && uses.length > 0
    if (!isServed) for (const [i, use] of uses.entries()) this.#undo(use, request.parts[i] as Part, now)
    for (const { key } of request.parts) {
      const holder = this.#holders.get(key)
      if (holder?.isDue(now)) this.#send(holder, holder.next(now))
    }
    return isServed ? { source: 'lease', allowed: true, step: request, uses } : undefined
  }

  #undo(use: LeaseUse, { key, cost }: Part, now: number): void {
    use.giveBack(cost, now)
    this.#holders.get(key)?.demand.unnote(cost)
  }

  /** The holder for a part. If it is for other limits, such as those of the plan before, its leases end. */
  #holderOf({ key, set }: Part): LeaseHolder | undefined {
    if (!set.lease) return undefined
    const holder = this.#holders.get(key)
    if (!holder || holder.part.set === set) return holder
    this.#giveBack(key, holder)
    return undefined
  }

  #note(part: Part, plan: Request['plan'], limits: readonly LimitOutcome[]): void {
    const holder = this.#holderOf(part)
    if (!holder) return this.#watch(part, plan)
    holder.demand.note(part.cost)
    const now = this.#clock()
    if (holder.isDue(now) && isGrantable(limits, holder.terms)) this.#send(holder, holder.next(now))
  }

  #watch(part: Part, plan: Request['plan']): void {
    const { key, cost } = part
    const watch = this.#watched.get(key)
    if (!watch) return this.#watched.set(key, { requests: 1, units: cost, sinceMs: this.#clock() })
    watch.requests += 1
    watch.units += cost
    if (watch.requests < HOT_REQUESTS) return
    const now = this.#clock()
    const elapsed = now - watch.sinceMs
    const lengthMs = (part.set.lease?.lengthUs ?? 0) / 1000
    if (elapsed > lengthMs || this.#holders.has(key) || this.#holders.size >= MOST_HOLDERS) {
      Object.assign(watch, { requests: 0, units: 0, sinceMs: now })
      return
    }
    this.#watched.delete(key)
    this.#hold(part, plan, watch, now)
  }

  #hold(part: Part, plan: Request['plan'], { requests, units, sinceMs }: Watch, now: number): void {
    const demand = new Demand(sinceMs)
    demand.begin(requests, units)
    const { told } = this.#host as FastPathHost
    const holder = new LeaseHolder({ part, plan, demand, newId: this.#newId, listener: told })
    this.#holders.set(part.key, holder)
    this.#send(holder, holder.next(now))
    this.#sweepLater()
  }

  /** Ends a holder. It is forgotten when the store has confirmed that, or its leases have ended. */
  #giveBack(key: string, holder: LeaseHolder): void {
    holder.expire(this.#clock())
    holder.retire()
    this.#send(holder, holder.giveBack())
    if (holder.isEmpty) this.#holders.delete(key)
  }

  #send(holder: LeaseHolder, request: Request | undefined): void {
    if (!request) return
    const sentAt = this.#clock()
    this.#host?.send(request, (outcome) => {
      const now = this.#clock()
      if (outcome) holder.answered(outcome, sentAt, now)
      else holder.failed(now)
    })
  }

  #sweepLater(): void {
    if (this.#timer || this.#isEnded) return
    let shortest = LONGEST_SWEEP_MS * PART_OF_LEASE
    for (const { lengthMs } of this.#holders.values()) shortest = Math.min(shortest, lengthMs)
    const ms = Math.max(shortest / PART_OF_LEASE, SHORTEST_SWEEP_MS)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#sweep(this.#clock())
      if (this.#holders.size > 0) this.#sweepLater()
    }, ms).unref()
  }

  /** Looks after leases that no request asks for. */
  #sweep(now: number): void {
    for (const [key, holder] of this.#holders) {
      holder.expire(now)
      if (holder.isRetired || holder.isIdle(now)) {
        if (holder.isEmpty) this.#holders.delete(key)
        else this.#send(holder, holder.giveBack())
      } else if (holder.open > 0 && holder.isDue(now)) {
        this.#send(holder, holder.next(now))
      }
    }
  }
}
