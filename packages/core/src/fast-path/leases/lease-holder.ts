import type { LeaseTerms } from '../../plans/limit-set.js'
import type { Plan } from '../../plans/plan.js'
import type { Part, Request } from '../../requests/request.js'
import type { LeaseOrder, LeaseReport, LeaseWish, Outcome } from '../../stores/contract.js'
import type { LeaseListener } from '../fast-path.js'
import type { Demand } from './demand.js'
import type { LeaseChange } from './lease-change.js'
import { HeldLease } from './held-lease.js'
import { LeaseUse } from './lease-use.js'
import { isHot, leadMsOf, pauseMsOf, wishOf } from './sizes.js'

export interface HolderOptions {
  /** Any request's part for the subject: its key, limits, shard and plan. */
  readonly part: Part
  /** The plan of the subject that pays. */
  readonly plan: Plan
  readonly demand: Demand
  readonly newId: () => string
  readonly listener: LeaseListener
}

/** The message that is under way. */
interface Asked {
  readonly wish: LeaseWish | undefined
  /** The leases that were reported, and the units of each that go back. */
  readonly reported: readonly (readonly [lease: HeldLease, returned: number])[]
}

/**
 * The leases that this process holds of one subject with one set of limits. At most one message is under way. All times
 * are ms of the process's monotonic clock; nothing here reads a clock or sends.
 */
export class LeaseHolder {
  readonly part: Part
  readonly terms: LeaseTerms
  readonly demand: Demand
  readonly lengthMs: number
  readonly #options: HolderOptions
  /** The oldest first. Closed ones stay until the store has confirmed that, or they end. */
  #leases: HeldLease[] = []
  #asked: Asked | undefined
  /** Wishes whose answer did not come: they may have been granted, and are given back with the next message. */
  #unanswered: { readonly id: string; readonly endsAtMs: number }[] = []
  #pausedUntilMs = -Infinity
  #forgottenAtMs = -Infinity
  #tripMs = 1
  #isRetired = false
  /** Whether it has held a lease since it was last idle. */
  #hadLease = false
  /** The next message is due when the newest lease has fewer units than this, or from this time on. */
  #dueBelow = 0
  #dueAtMs = -Infinity

  constructor(options: HolderOptions) {
    this.#options = options
    this.part = options.part
    this.demand = options.demand
    this.terms = options.part.set.lease as LeaseTerms
    this.lengthMs = this.terms.lengthUs / 1000
  }

  /** How many leases can still be served. */
  get open(): number {
    let open = 0
    for (const { isClosed } of this.#leases) if (!isClosed) open += 1
    return open
  }

  /** Whether there is nothing left to serve, to report or to wait for. */
  get isEmpty(): boolean {
    return this.#leases.length === 0 && this.#unanswered.length === 0 && !this.#asked
  }

  /** Whether it serves no more, and only gives back. */
  get isRetired(): boolean {
    return this.#isRetired
  }

  /** It serves no more: its leases are only given back. */
  retire(): void {
    this.#isRetired = true
  }

  /** Takes units of the oldest lease that has as many. */
  serve(cost: number, nowMs: number): LeaseUse | undefined {
    if (this.#isRetired) return undefined
    for (const lease of this.#leases) {
      if (!lease.take(cost, nowMs)) continue
      this.demand.note(cost)
      return new LeaseUse(this.part, lease)
    }
    return undefined
  }

  /** Whether it is time for the next message. */
  isDue(nowMs: number): boolean {
    if (this.#asked || this.#isRetired || nowMs < this.#pausedUntilMs) return false
    const newest = this.#leases.at(-1)
    return newest === undefined || newest.left < this.#dueBelow || nowMs >= this.#dueAtMs
  }

  /** The message that is due: it renews the lease of a hot subject, and gives back that of any other. */
  next(nowMs: number): Request | undefined {
    this.expire(nowMs)
    this.demand.read(nowMs)
    return this.#isHot()
      ? this.#message(wishOf(this.#options.newId(), this.demand, this.terms))
      : this.giveBack()
  }

  /** A message that gives everything back; undefined if there is nothing, or a message is under way. */
  giveBack(): Request | undefined {
    return this.isEmpty || this.#asked ? undefined : this.#message(undefined)
  }

  /** Whether the subject has been idle for long enough to give its lease back. */
  isIdle(nowMs: number): boolean {
    this.demand.read(nowMs)
    return !this.#isHot()
  }

  /** The store's answer to the message under way. */
  answered(outcome: Outcome, sentAtMs: number, nowMs: number): void {
    const asked = this.#asked
    if (!asked) return
    this.#asked = undefined
    this.#tripMs = nowMs - sentAtMs
    this.#unanswered = []
    let [returned, late] = [0, 0]
    for (const [lease, units] of asked.reported) {
      if (lease.confirm(outcome)) returned += units
      else late += units
      if (!outcome.lease?.isKnown && !lease.isClosed) this.#tellUnits('lost', lease.close())
    }
    this.#remove(({ isClosed }) => isClosed)
    this.#tellUnits('returned', returned)
    this.#tellUnits('lost', late)
    if (asked.wish) this.#adopt(asked.wish, outcome, sentAtMs, nowMs)
  }

  /** The message under way got no answer. */
  failed(nowMs: number): void {
    const asked = this.#asked
    if (!asked) return
    this.#asked = undefined
    this.#pause(nowMs)
    this.#tellUnits(
      'lost',
      asked.reported.reduce((sum, [, returned]) => sum + returned, 0),
    )
    if (asked.wish) this.#abandon(asked.wish, nowMs)
  }

  /** Drops all leases without a report: the store has no counts of the subject any more. */
  forget(nowMs: number): void {
    this.#forgottenAtMs = nowMs
    for (const lease of this.#leases) lease.close()
    this.#remove(() => true)
  }

  /** Drops leases that have ended. */
  expire(nowMs: number): void {
    if (this.#unanswered.length > 0)
      this.#unanswered = this.#unanswered.filter(({ endsAtMs }) => endsAtMs > nowMs)
    if (!this.#leases.some(({ endsAtMs }) => nowMs >= endsAtMs)) return
    for (const lease of this.#leases) if (nowMs >= lease.endsAtMs) this.#tellUnits('lost', lease.close())
    this.#remove(({ endsAtMs }) => nowMs >= endsAtMs)
  }

  #isHot(): boolean {
    return isHot(this.demand, this.lengthMs, this.#leases.length > 0)
  }

  /** Reports all leases. With a wish, what is needed until its answer comes is kept. */
  #message(wish: LeaseWish | undefined): Request {
    const kept = wish ? Math.ceil(this.demand.unitsPerMs * leadMsOf(this.#tripMs, this.lengthMs)) : 0
    const newest = this.#leases.at(-1)
    const reports: LeaseReport[] = []
    const reported = this.#leases.map((lease) => {
      const before = lease.left
      reports.push(lease.report(lease === newest ? kept : 0))
      return [lease, before - lease.left] as const
    })
    for (const { id } of this.#unanswered) reports.push({ id, used: 0, left: 0 })
    const order = { reports, wish }
    const request = this.#requestOf(order, wish?.most ?? 1)
    this.#asked = { wish, reported }
    return request
  }

  #requestOf(order: LeaseOrder, cost: number): Request {
    const { shard, subject, limits } = this.part
    const parts = [{ ...this.part, cost }]
    return { subject, plan: this.#options.plan, cost, parts, limits, shard, grant: 'lease', order }
  }

  #adopt(wish: LeaseWish, outcome: Outcome, sentAtMs: number, nowMs: number): void {
    const lease = new HeldLease(wish.id, outcome, sentAtMs)
    const { granted, endsAtMs } = lease
    if (granted === 0) {
      this.#pause(nowMs)
      return this.#tell('refused', 0)
    }
    const isOver = this.#isRetired || sentAtMs <= this.#forgottenAtMs || nowMs >= endsAtMs
    if (isOver) return this.#abandon(wish, nowMs)
    this.#tell('granted', granted, this.#hadLease)
    this.#hadLease = true
    this.#leases.push(lease)
    const leadMs = leadMsOf(this.#tripMs, this.lengthMs)
    this.#dueBelow = Math.min(granted / 2, Math.ceil(this.demand.unitsPerMs * leadMs) + 1)
    this.#dueAtMs = endsAtMs - leadMs
  }

  #abandon({ id }: LeaseWish, nowMs: number): void {
    this.#unanswered.push({ id, endsAtMs: nowMs + this.lengthMs })
    this.#tell('lost', 0)
  }

  #pause(nowMs: number): void {
    this.#pausedUntilMs = nowMs + pauseMsOf(this.lengthMs)
  }

  #remove(isOver: (lease: HeldLease) => boolean): void {
    for (const lease of this.#leases) if (isOver(lease)) this.#options.listener.leaseUsed(lease.used)
    this.#leases = this.#leases.filter((lease) => !isOver(lease))
  }

  #tellUnits(kind: LeaseChange['kind'], units: number): void {
    if (units > 0) this.#tell(kind, units)
  }

  #tell(kind: LeaseChange['kind'], units: number, isRenewal = false): void {
    const { listener, plan } = this.#options
    listener.lease({ kind, subject: this.part.subject, plan: plan.name, units }, isRenewal)
  }
}
