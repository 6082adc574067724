import { fnv1a } from '../../base/hash.js'
import { clearTimeout, elapsedMs, setTimeout } from '../../base/timers.js'
import {
  combineGivenBack,
  type Feature,
  type FeatureHost,
  type ForgetReason,
  type GivenBack,
} from '../../requests/feature.js'
import {
  type LeasedUnits,
  type Part,
  type Request,
  type Verdict,
  isTaken,
  lackingUnits,
} from '../../requests/request.js'
import type { Outcome } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { Demand, isGrantable, HOT_REQUESTS } from './demand.js'
import { LeaseHolder, type LeaseUse } from './lease-holder.js'
import { type LeaseChange, LeaseReporter, type LeaseStats } from './lease-reporter.js'

/** The most subjects that can hold leases. */
const MOST_HOLDERS = 1000
/** How often leases are looked after, in parts of the shortest lease, and in ms. */
const PART_OF_LEASE = 8
const [SHORTEST_SWEEP_MS, LONGEST_SWEEP_MS] = [2, 25]

/**
 * Serves busy subjects from units that were taken in advance, on plans with `lease`. No units are taken in advance for a
 * subject on any other plan, or with few requests.
 */
export class Leases implements Feature {
  readonly #host: FeatureHost<{ lease: LeaseChange }>
  readonly #reporter: LeaseReporter
  readonly #newId: () => string
  readonly #clock: () => number
  readonly #watches: Watches
  /** By key. */
  readonly #holders = new Map<string, LeaseHolder>()
  /** Resolved when the message of a holder that is under way has its answer, or has none. */
  readonly #underWay = new Map<LeaseHolder, Promise<void>>()
  #timer: NodeJS.Timeout | undefined
  #isEnded = false

  /** @param clock in ms, never goes back: a test's, by which the store counts; default: the time since the process started */
  constructor(
    host: FeatureHost<{ lease: LeaseChange }>,
    newId: () => string,
    clock: () => number = elapsedMs,
  ) {
    this.#host = host
    this.#reporter = new LeaseReporter((change) => host.emit('lease', change))
    this.#newId = newId
    this.#clock = clock
    this.#watches = new Watches(clock)
  }

  stats(): { readonly leases: LeaseStats } {
    let held = 0
    for (const holder of this.#holders.values()) held += holder.open
    return { leases: this.#reporter.stats(held) }
  }

  answer(request: Request, isPeek: boolean): Verdict | undefined {
    if (this.#holders.size === 0 || isPeek || request.hold) return undefined
    const { parts } = request
    const [part] = parts
    if (parts.length !== 1 || !part) return this.#answerJoint(request)
    const holder = this.#holderOf(part)
    if (!holder) return undefined
    const now = this.#clock()
    const use = holder.serve(part.cost, now)
    this.#renew(holder, now)
    return use && { source: 'lease', allowed: true, step: request, uses: [use] }
  }

  learn(request: Request, outcome: Outcome, sentAtMs: number, isPeek: boolean): void {
    const { parts, plan, grant, hold } = request
    if (grant !== 'all' || hold || isPeek || this.#isEnded) return
    // Unless all parts can be leased, none of them is served.
    for (const { set } of parts) if (!set.lease) return
    if (!isTaken(outcome)) return
    // Without holders nothing is looked up, since most tenants are never hot.
    let isMissing = this.#holders.size === 0
    if (!isMissing) for (const part of parts) isMissing ||= !this.#holderOf(part)
    if (isMissing) this.#watch(parts, plan, sentAtMs)
    else this.#note(parts, outcome, sentAtMs)
  }

  /**
   * Gives back idle units of the keys that lack some, if all of them then have enough. Otherwise the leases stay, so that a
   * denied flood costs no more than without leases.
   */
  makeRoom({ parts, grant }: Request, { at, limits }: Outcome): Promise<unknown> | undefined {
    if (this.#holders.size === 0 || !parts.some((part) => this.#holders.has(part.key))) return undefined
    const inTheWay: LeaseHolder[] = []
    for (const [part, own] of limitsByPart(parts, limits)) {
      const lacking = lackingUnits(part, grant, own)
      if (lacking === 0) continue
      const holder = this.#holders.get(part.key)
      if (!holder || lacking > this.idleUnits(part.key) + holder.cameBackSince(at)) return undefined
      inTheWay.push(holder)
    }
    return inTheWay.length > 0 ? Promise.all(inTheWay.map((holder) => this.#giveAllBack(holder))) : undefined
  }

  /** Units of a key that this process holds and does not use. */
  idleUnits(key: string): number {
    return this.#holders.get(key)?.idleUnits(this.#clock()) ?? 0
  }

  forget(reason: ForgetReason, keys?: readonly string[]): void {
    if (reason === 'changed' || reason === 'unblocked' || reason === 'renewed') return
    if (!keys) return this.#endAll()
    const now = this.#clock()
    for (const key of keys) this.#holders.get(key)?.forget(now)
  }

  stop(): void {
    this.#isEnded = true
    this.#endAll()
    clearTimeout(this.#timer)
  }

  giveBack({ source, uses = [] }: Verdict, units: number): Promise<GivenBack> | undefined {
    return source === 'lease' ? this.#giveUsesBack(uses, units) : undefined
  }

  async #giveUsesBack(uses: readonly LeasedUnits[], units: number): Promise<GivenBack> {
    const nowMs = this.#clock()
    const all = await Promise.all(
      uses.map((use): GivenBack | Promise<GivenBack> => {
        const given = use.giveBack(units, nowMs)
        if (given === true) return 'given'
        return given ? this.#host.refund(given) : 'gone'
      }),
    )
    return combineGivenBack(all)
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
    for (const [i, { key, cost }] of request.parts.entries()) {
      const holder = this.#holders.get(key)
      const use = uses[i]
      if (use && !isServed) holder?.takeBack(use, cost, now)
      if (holder) this.#renew(holder, now)
    }
    return isServed ? { source: 'lease', allowed: true, step: request, uses } : undefined
  }

  /** Without a lease, the store's next outcome says whether to ask for one. */
  #renew(holder: LeaseHolder, now: number): void {
    if (holder.isDue(now) && holder.open > 0) this.#send(holder, holder.next(now))
  }

  /** The holder for a part. If it is for other limits, such as those of the plan before, its leases end. */
  #holderOf({ key, set }: Part): LeaseHolder | undefined {
    if (!set.lease) return undefined
    const holder = this.#holders.get(key)
    if (!holder || holder.part.set === set) return holder
    this.#giveBack(key, holder)
    return undefined
  }

  #watch(parts: readonly Part[], plan: Request['plan'], sentAtMs: number): void {
    let isHot = true
    for (const part of parts) {
      if (!this.#holdsFor(part) && !this.#watches.note(part)) isHot = false
    }
    if (!isHot || this.#holders.size + parts.length > MOST_HOLDERS) return
    for (const part of parts) if (!this.#holdsFor(part)) this.#hold(part, plan, sentAtMs)
  }

  #holdsFor({ key }: Part): boolean {
    return this.#holders.size > 0 && this.#holders.has(key)
  }

  #note(parts: readonly Part[], outcome: Outcome, sentAtMs: number): void {
    const now = this.#clock()
    for (const [part, limits] of limitsByPart(parts, outcome.limits)) {
      const holder = this.#holders.get(part.key)
      if (!holder) continue
      holder.demand.note(part.cost)
      this.#noteTrip(holder, sentAtMs, now)
      if (holder.isDue(now) && isGrantable(limits, holder.terms)) this.#send(holder, holder.next(now))
    }
  }

  /** `sentAtMs` is of the process's clock, which a test's is not. */
  #noteTrip(holder: LeaseHolder, sentAtMs: number, now: number): void {
    if (this.#clock === elapsedMs) holder.noteTrip(now - sentAtMs)
  }

  #hold(part: Part, plan: Request['plan'], sentAtMs: number): void {
    const { requests, units, sinceMs } = this.#watches.take(part.key)
    const demand = new Demand(sinceMs)
    demand.begin(requests, units)
    const holder = new LeaseHolder({ part, plan, demand, newId: this.#newId, reporter: this.#reporter })
    this.#holders.set(part.key, holder)
    const now = this.#clock()
    this.#noteTrip(holder, sentAtMs, now)
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

  #endAll(): void {
    for (const [key, holder] of this.#holders) this.#giveBack(key, holder)
  }

  async #giveAllBack(holder: LeaseHolder): Promise<void> {
    // What is under way may bring another lease.
    await this.#underWay.get(holder)
    holder.expire(this.#clock())
    this.#send(holder, holder.giveBack())
    await this.#underWay.get(holder)
  }

  #send(holder: LeaseHolder, request: Request | undefined): void {
    if (!request) return
    const sentAt = this.#clock()
    let isAnswered = false
    const answered = new Promise<void>((resolve) => {
      this.#host.send(request, (outcome) => {
        const now = this.#clock()
        if (outcome) holder.answered(outcome, sentAt, now)
        else holder.failed(now)
        isAnswered = true
        this.#underWay.delete(holder)
        resolve()
      })
    })
    if (!isAnswered) this.#underWay.set(holder, answered)
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
      } else {
        this.#renew(holder, now)
      }
    }
  }
}

/** The most subjects that are watched. Then all begin anew: a count covers half a second at most. */
const MOST_WATCHED = 10_000
/**
 * This many requests are counted only by a hash of the subject's key, before the subject is watched. They can be old, or another
 * subject's, so they do not make it hot.
 */
const UNWATCHED = 3
/** How many hashes there are. After as many requests, all are counted anew. */
const HASHES = 2 ** 14

/** What a subject has asked for since a time, in ms. */
interface Watch {
  requests: number
  units: number
  sinceMs: number
}

/**
 * Counts the requests of subjects that hold no lease. Subjects that are never hot make one or two each. Keeping these in a map
 * would cost more than the rest of leases, so the first ones are counted in a few bytes.
 */
class Watches {
  readonly #clock: () => number
  /** Requests by the hash of their key, up to `UNWATCHED`. Made when first needed. */
  #counts: Uint8Array | undefined
  #counted = 0
  readonly #watched = new Map<string, Watch>()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Counts a request. Returns whether its subject is hot: it made enough requests for a lease in the time of one. */
  note({ key, cost, set }: Part): boolean {
    if (this.#isRare(key)) return false
    const watch = this.#watched.get(key)
    if (!watch) {
      if (this.#watched.size >= MOST_WATCHED) this.#watched.clear()
      this.#watched.set(key, { requests: 1, units: cost, sinceMs: this.#clock() })
      return false
    }
    watch.requests += 1
    watch.units += cost
    // The clock is read only when enough requests came.
    if (watch.requests < HOT_REQUESTS) return false
    const now = this.#clock()
    if ((now - watch.sinceMs) * 1000 <= (set.lease?.lengthUs ?? 0)) return true
    Object.assign(watch, { requests: 0, units: 0, sinceMs: now })
    return false
  }

  /** Counts a request. Returns whether there were no more than `UNWATCHED` since all were counted anew. */
  #isRare(key: string): boolean {
    const counts = (this.#counts ??= new Uint8Array(HASHES))
    this.#counted += 1
    if (this.#counted % HASHES === 0) counts.fill(0)
    const hash = fnv1a(key) % HASHES
    const count = counts[hash] as number
    if (count >= UNWATCHED) return false
    counts[hash] = count + 1
    return true
  }

  /** What a subject has asked for. From now on it is not watched. */
  take(key: string): Readonly<Watch> {
    const watch = this.#watched.get(key) ?? { requests: 0, units: 0, sinceMs: this.#clock() }
    this.#watched.delete(key)
    return watch
  }
}
