import type { LeaseTerms } from '../../plans/limit/limit-set.js'
import type { Plan } from '../../plans/plan.js'
import { type LeasedUnits, type Part, type Request, messageAbout } from '../../requests/request.js'
import type { LeaseWish, Outcome, RefundRequest } from '../../stores/contract.js'
import { refundOf } from '../../stores/receipts.js'
import { type Demand, isHot, isInTime, leadMsOf, pauseMsOf, createWish } from './demand.js'
import { HeldLease, type LeaseState } from './held-lease.js'
import { HeldLeases, type Reported } from './held-leases.js'
import type { LeaseChange, LeaseReporter } from './lease-reporter.js'

export interface HolderOptions {
  /** Any request's part for the subject: its key, limits, shard and plan. */
  readonly part: Part
  /** The plan of the subject that pays. */
  readonly plan: Plan
  readonly demand: Demand
  readonly newId: () => string
  readonly reporter: Pick<LeaseReporter, 'lease' | 'leaseUsed'>
}

/** The message that is under way. */
interface MessageUnderWay {
  readonly wish: LeaseWish | undefined
  readonly reported: readonly Reported[]
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
  readonly #leases: HeldLeases
  #underWay: MessageUnderWay | undefined
  /** The units that went back last, and when the store had them back, by its clock. */
  #cameBack = { units: 0, at: -Infinity }
  /** Wishes whose answer did not come: they may have been granted, and are given back with the next message. */
  #unanswered: { readonly id: string; readonly most: number; readonly endsAtMs: number }[] = []
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
    this.#leases = new HeldLeases({
      changed: (kind, units) => this.#report(kind, units),
      used: (units) => options.reporter.leaseUsed(units),
    })
  }

  /** How many leases can still be served. */
  get open(): number {
    return this.#leases.open
  }

  /** Whether there is nothing left to serve, to report or to wait for. */
  get isEmpty(): boolean {
    return this.#leases.all.length === 0 && this.#unanswered.length === 0 && !this.#underWay
  }

  /** All that it holds, as plain values, for tests. */
  state(): HolderState {
    return {
      ...{
        leases: this.#leases.all.map((lease) => lease.state()),
        unanswered: this.#unanswered,
        isRetired: this.#isRetired,
      },
      ...{ pausedUntilMs: this.#pausedUntilMs, forgottenAtMs: this.#forgottenAtMs, tripMs: this.#tripMs },
      ...{ dueBelow: this.#dueBelow, dueAtMs: this.#dueAtMs },
    }
  }

  /** Whether it no longer serves, and only gives back. */
  get isRetired(): boolean {
    return this.#isRetired
  }

  /** Stops serving: its leases are only given back. */
  retire(): void {
    this.#isRetired = true
  }

  /** Takes units from the oldest lease that has enough. */
  serve(cost: number, nowMs: number): LeaseUse | undefined {
    const lease = this.#isRetired ? undefined : this.#leases.take(cost, nowMs)
    if (!lease) return undefined
    this.demand.note(cost)
    return new LeaseUse(this.part, lease, this.terms.lagUs)
  }

  /** Takes back units that were served to a request which then asked the store. */
  takeBack(use: LeaseUse, cost: number, nowMs: number): void {
    use.giveBack(cost, nowMs)
    this.demand.forget(cost)
  }

  /** The most unused units that the store may count as on lease, so that it gives them to no other request. */
  idleUnits(nowMs: number): number {
    const asked = this.#underWay?.wish?.most ?? 0
    const unanswered = this.#unanswered.filter(({ endsAtMs }) => nowMs < endsAtMs)
    return unanswered.reduce((sum, { most }) => sum + most, this.#leases.idle(nowMs) + asked)
  }

  /**
   * Units that the store has back by now, but may not have had when it decided a request: answers can arrive in any order.
   *
   * @param at when it decided that, by its clock
   */
  cameBackSince(at: number): number {
    return at <= this.#cameBack.at ? this.#cameBack.units : 0
  }

  /** Notes how long a request that no lease served took to the store and back. */
  noteTrip(tripMs: number): void {
    this.#tripMs = tripMs > this.#tripMs ? tripMs : (3 * this.#tripMs + tripMs) / 4
  }

  /** Whether it is time for the next message. */
  isDue(nowMs: number): boolean {
    if (this.#underWay || this.#isRetired || nowMs < this.#pausedUntilMs) return false
    const newest = this.#leases.all.at(-1)
    return newest === undefined || newest.left < this.#dueBelow || nowMs >= this.#dueAtMs
  }

  /** The message that is due: it renews the lease of a hot subject, and gives back that of any other. */
  next(nowMs: number): Request | undefined {
    this.expire(nowMs)
    this.demand.read(nowMs)
    return this.#isHot()
      ? this.#message(createWish(this.#options.newId(), this.demand, this.terms))
      : this.giveBack()
  }

  /** A message that gives everything back; undefined if there is nothing, or a message is under way. */
  giveBack(): Request | undefined {
    return this.isEmpty || this.#underWay ? undefined : this.#message(undefined)
  }

  /** Whether the subject has been idle for long enough to give its lease back. */
  isIdle(nowMs: number): boolean {
    this.demand.read(nowMs)
    return !this.#isHot()
  }

  /** The store's answer to the message under way. */
  answered(outcome: Outcome, sentAtMs: number, nowMs: number): void {
    const message = this.#underWay
    if (!message) return
    this.#underWay = undefined
    this.noteTrip(nowMs - sentAtMs)
    this.#unanswered = []
    const units = this.#leases.confirm(message.reported, outcome)
    if (units > 0) this.#cameBack = { units, at: outcome.at }
    if (message.wish) this.#adopt(message.wish, outcome, sentAtMs, nowMs)
    // A request that is asked for again may need what was given back.
    else this.#pause(nowMs)
    // What is withheld now goes back with the next message.
    if (outcome.lease?.isKnown !== true) this.#dueAtMs = nowMs
  }

  /** The message under way got no answer. */
  failed(nowMs: number): void {
    const message = this.#underWay
    if (!message) return
    this.#underWay = undefined
    this.#pause(nowMs)
    this.#leases.unconfirmed(message.reported)
    if (!message.wish) return
    const { id, most } = message.wish
    this.#unanswered.push({ id, most, endsAtMs: nowMs + this.lengthMs })
    this.#report('lost', 0)
  }

  /**
   * Its subject was reset, or is about to be: its leases serve no more requests. They are given back, since the store may have
   * granted them after the reset.
   */
  forget(nowMs: number): void {
    this.#forgottenAtMs = nowMs
    this.#dueAtMs = nowMs
    this.#leases.withhold()
  }

  /** Drops leases that have ended. */
  expire(nowMs: number): void {
    this.#leases.expire(nowMs)
    if (this.#unanswered.length > 0)
      this.#unanswered = this.#unanswered.filter(({ endsAtMs }) => endsAtMs > nowMs)
  }

  #isHot(): boolean {
    return (
      isInTime(this.#tripMs, this.lengthMs) && isHot(this.demand, this.lengthMs, this.#leases.all.length > 0)
    )
  }

  /** Reports all leases. With a wish, what is needed until its answer comes is kept. */
  #message(wish: LeaseWish | undefined): Request {
    const kept = wish ? Math.ceil(this.demand.unitsPerMs * this.#tripMs) : 0
    const { reports, reported } = this.#leases.report(kept)
    for (const { id } of this.#unanswered) reports.push({ id, used: 0, left: 0 })
    this.#underWay = { wish, reported }
    return messageAbout(this.part, this.#options.plan, { grant: 'lease', order: { reports, wish } })
  }

  #adopt(wish: LeaseWish, outcome: Outcome, sentAtMs: number, nowMs: number): void {
    const lease = new HeldLease(wish.id, outcome, sentAtMs)
    const { granted, endsAtMs } = lease
    if (granted === 0) {
      this.#pause(nowMs)
      return this.#report('refused', 0)
    }
    // The store may have forgotten it in the reset: then it is only given back.
    const isOfBefore = sentAtMs <= this.#forgottenAtMs
    if (isOfBefore) lease.withhold()
    this.#leases.add(lease)
    const leadMs = leadMsOf(this.#tripMs, this.lengthMs)
    this.#dueBelow = Math.min(granted / 2, Math.ceil(this.demand.unitsPerMs * leadMs) + 1)
    this.#dueAtMs = isOfBefore ? nowMs : endsAtMs - leadMs
    const isRenewal = this.#hadLease
    this.#hadLease = true
    this.#report('granted', granted, isRenewal)
    this.expire(nowMs)
  }

  #pause(nowMs: number): void {
    this.#pausedUntilMs = nowMs + pauseMsOf(this.lengthMs)
  }

  #report(kind: LeaseChange['kind'], units: number, isRenewal = false): void {
    const { reporter, plan } = this.#options
    reporter.lease({ kind, subject: this.part.subject, plan: plan.name, units }, isRenewal)
  }
}

/** What a holder holds and waits for, apart from the message that is under way. */
interface HolderState {
  readonly leases: readonly LeaseState[]
  readonly unanswered: readonly object[]
  readonly isRetired: boolean
  readonly pausedUntilMs: number
  readonly forgottenAtMs: number
  readonly tripMs: number
  readonly dueBelow: number
  readonly dueAtMs: number
}

/** Units of one lease that served one part of a request. */
export class LeaseUse implements LeasedUnits {
  readonly part: Part
  readonly lease: HeldLease
  /** Its number among the uses of the lease. */
  readonly #use: number
  readonly #lagUs: number

  /** @param lagUs as in LeaseWish */
  constructor(part: Part, lease: HeldLease, lagUs: number) {
    this.part = part
    this.lease = lease
    this.#lagUs = lagUs
    this.#use = lease.lastUse
  }

  giveBack(units: number, nowMs: number): true | RefundRequest | undefined {
    const { lease, part } = this
    if (lease.putBack(this.#use, units, nowMs)) return true
    const confirmed = lease.confirmation(this.#use)
    if (!confirmed) return undefined
    // All units of a report were counted together. In a bucket, these may be the first of them to drain.
    const { at, limits } = confirmed.outcome
    const enteredAt = this.#lagUs > 0 ? Math.min(at, lease.endsAtUs - this.#lagUs) : at
    const behind = Math.max(confirmed.units - units, 0)
    const then = limits.map((limit) => ({ ...limit, remaining: limit.remaining + behind }))
    return refundOf({ shard: part.shard, parts: [part] }, { at: enteredAt, limits: then }, units)
  }
}
