import { EARLIEST, NEVER, type Receipt, type Usage } from '../../algorithms/implementation.js'
import type { LimitSet } from '../../plans/limit/limit-set.js'
import type {
  BlockOutcome,
  DenialTally,
  Hold,
  HoldOutcome,
  LeaseOrder,
  LeaseWish,
  LimitOutcome,
  SlotHolder,
  SubRequest,
} from '../contract.js'
import { countDenials, countTally, toBlockOutcome, type DenialRecord } from './beside/denial-record.js'
import { endAfter, reservationEnd } from './beside/hold-decision.js'
import {
  addLease,
  bookPlace,
  findLiving,
  NO_LEASES,
  settleReport,
  type LeaseBook,
  type UsedOfLease,
} from './beside/lease-book.js'
import { isOfLimit, placesUntil, type Opening } from './beside/place-line.js'
import type { PreparedLimit } from './prepared-limit.js'

/** An outcome that is still being filled in. */
type LimitOutcomeDraft = { -readonly [Name in keyof LimitOutcome]: LimitOutcome[Name] }

interface Granted {
  readonly units: number
  readonly endsInUs: number
  readonly isNew: boolean
}

const NOTHING_GRANTED: Granted = { units: 0, endsInUs: 0, isNew: false }

/** The limits of one subject with their states as of now, and what is on lease, reserved or in places beside them. */
export class LoadedLimits {
  protected limits: readonly PreparedLimit[] = []
  /** What is on lease of the subject, as of now. */
  protected leases: LeaseBook = NO_LEASES
  /** Whether the request reported other slots than the subject's state had. */
  hasDeclared = false
  protected denials: DenialRecord | undefined
  /** Whether the request was a denial that counts, or told of such. */
  hasNewDenials = false
  /** Whether anything is kept of the subject. */
  protected exists = false
  /** Set if the subject is blocked for this request. */
  #block: BlockOutcome | undefined

  protected outcomes: LimitOutcomeDraft[] = []

  get fits(): boolean {
    return this.outcomes.every(({ wait }) => wait === 0)
  }

  /** Begins an answer in which nothing is waited for. */
  begin(granted?: readonly number[]): void {
    this.#block = undefined
    this.outcomes = this.limits.map((_, i) => {
      const outcome = { wait: 0, remaining: 0, reset: 0 }
      return granted ? { ...outcome, granted: granted[i] ?? 0 } : outcome
    })
  }

  /** Begins an answer with the µs until the cost fits each limit. Returns whether it fits all of them now. */
  wait(cost: number): boolean {
    const limits = this.limits
    let fits = true
    this.outcomes = []
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      const wait = limit.wait(cost)
      const outcome: LimitOutcomeDraft = { wait, remaining: 0, reset: 0 }
      this.outcomes.push(outcome)
      if (limit.observes) this.#observe(outcome, wait)
      else if (limit.overage) outcome.wait = 0
      else if (wait !== 0) fits = false
    }
    if (!this.#block) return fits
    this.#delay(this.#block)
    return false
  }

  /** Nothing waits for a limit that observes. */
  #observe(outcome: LimitOutcomeDraft, wait: number): void {
    outcome.wait = 0
    if (wait === 0) delete outcome.wouldWait
    else outcome.wouldWait = wait
  }

  /** No cost fits before the block is over. */
  #delay({ endsInUs }: BlockOutcome): void {
    for (const outcome of this.outcomes) {
      if (outcome.wait !== NEVER) outcome.wait = Math.max(outcome.wait, endsInUs)
    }
  }

  admit(): void {
    this.#block = undefined
    for (const outcome of this.outcomes) outcome.wait = 0
  }

  /** A request that does not ask for the whole cost is not blocked. */
  protected loadDenials(record: DenialRecord | undefined): void {
    this.outcomes = []
    this.denials = record
    this.hasNewDenials = false
    this.#block = undefined
  }

  /**
   * Called before a request for the whole cost is decided: it may be blocked.
   *
   * @param tally what to count first; undefined if nothing may change
   */
  beginBlock({ blockAfter }: LimitSet, tally: DenialTally | undefined, now: number): void {
    if (!blockAfter) return
    const known = this.denials
    if (tally && this.exists) this.denials = countTally(known, tally, blockAfter, now)
    this.hasNewDenials = this.denials !== known
    this.#block = toBlockOutcome(this.denials, this.hasNewDenials, now)
  }

  /** Counts the denial of the request whose waits were asked for, if a limit in time denied it and no block. */
  countDenial({ set: { blockAfter }, countsDenial }: SubRequest, now: number): void {
    if (!blockAfter || countsDenial === false || this.#block || !this.exists) return
    const isDenied = this.outcomes.some(({ wait }, i) => wait !== 0 && !this.limits[i]?.isInFlight)
    if (!isDenied) return
    this.denials = countDenials(this.denials, { denials: 1, firstUs: now }, blockAfter, now)
    this.hasNewDenials = true
    this.#block = toBlockOutcome(this.denials, true, now)
    if (this.#block) this.#delay(this.#block)
  }

  /** Ends the block, and forgets the denials. Returns whether there was a block. */
  unblock(now: number): boolean {
    const wasBlocked = toBlockOutcome(this.denials, false, now) !== undefined
    this.hasNewDenials = this.denials !== undefined
    this.denials = undefined
    return wasBlocked
  }

  /** Records a process's slots, if a limit counts them. Returns whether its row was different. */
  declare(holder: SlotHolder | undefined): boolean {
    const limit = this.limits.find(({ isInFlight }) => isInFlight)
    this.hasDeclared = (holder && limit?.algorithm.declare?.(limit.state, holder, limit.params)) ?? false
    return this.hasDeclared
  }

  /** How many units fit all limits now that deny. */
  unitsThatFitAll(): number {
    return Math.min(...this.limits.map(({ isLenient, room }) => (isLenient ? Infinity : room)))
  }

  /** Takes the cost of which `wait` was asked, or as many units as fit all limits. A limit that observes takes only what fits it. */
  take(cost: number): void {
    const limits = this.limits
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      algorithm.take(state, this.outcomes[i]?.wouldWait === undefined ? cost : 0, params)
    }
  }

  /** Whether limits that observe would have denied this many units: `wait` was asked of more. */
  observeAgain(units: number): void {
    for (const [i, limit] of this.limits.entries()) {
      if (limit.observes) this.#observe(this.outcomes[i] as LimitOutcomeDraft, limit.wait(units))
    }
  }

  /** Takes from each limit the units used of it. Returns how many were taken from each. */
  force(used: readonly (readonly Usage[])[]): number[] {
    return this.limits.map(({ algorithm, state, params }, i) => {
      const own = used[i] ?? []
      if (own.length > 0) return algorithm.force(state, own, params)
      algorithm.take(state, 0, params)
      return 0
    })
  }

  /** Whether a stored state is from a limit so different that this set cannot give units back to it. */
  isOther(): boolean {
    return this.limits.some(({ algorithm, state, params }) => algorithm.isOther?.(state, params))
  }

  /** Gives units back to each limit. Returns whether any were given. */
  give(receipts: readonly Receipt[]): boolean {
    let anyGiven = false
    for (const [i, { algorithm, state, params, renewedAtUs }] of this.limits.entries()) {
      const receipt = receipts[i]
      // What was taken before a renewal is of the period before.
      const isBefore = receipt !== undefined && receipt.at !== EARLIEST && receipt.at < renewedAtUs
      if (receipt === undefined || receipt.units === 0 || isBefore) algorithm.take(state, 0, params)
      else if (algorithm.give(state, receipt, params)) anyGiven = true
    }
    return anyGiven
  }

  /** Counts what reports say was used. Returns whether they changed anything, and whether all their leases are known. */
  settle({ reports }: LeaseOrder, now: number): { readonly hasChanged: boolean; readonly isKnown: boolean } {
    const before = this.leases
    const used: UsedOfLease[] = []
    let isKnown = true
    for (const report of reports) {
      const settled = settleReport(this.leases, report, now)
      this.leases = settled.book
      used.push(settled.used)
      if (!settled.isKnown) isKnown = false
    }
    for (const { units, ageUs, stateIds } of used.sort((a, b) => b.ageUs - a.ageUs)) {
      for (const limit of this.limits) if (isOfLimit(stateIds, limit.ids)) limit.enter(units, ageUs)
    }
    const hasChanged = this.leases !== before
    if (hasChanged) this.countLeased(now)
    return { hasChanged, isKnown }
  }

  /** Grants a wish. `ttlUs`: how long units of these limits count at most. */
  lease(wish: LeaseWish, ttlUs: number, now: number): Granted {
    const living = findLiving(this.leases, wish.id, now)
    if (living) return { units: living.out, endsInUs: living.endUs - now, isNew: false }
    const { id, lagUs, lengthUs, most, least, share } = wish
    const endUs = endAfter(now, lengthUs)
    // What observes has a say here: so that it sees each request once it has nothing left.
    // Top-ups are not leased: units that enter after the end of their window would not be paid.
    const free = Math.min(...this.limits.map((limit) => limit.room - limit.toppedUp()))
    const units = Math.min(most, Math.floor(free * share))
    if (units < Math.max(least, 1) || endUs <= now) return NOTHING_GRANTED
    const ends = { endUs, lagUs, expiresUs: endUs + ttlUs }
    this.leases = addLease(this.leases, { id, units }, { kind: 'lease', ...ends, stateIds: this.leasedIds() })
    this.countLeased(now)
    return { units, endsInUs: endUs - now, isNew: true }
  }

  /** The limits whose units come back with time, each once, without those that observe and that the units do not fit. */
  protected leasedIds(): number[] {
    const takes = ({ isInFlight }: PreparedLimit, i: number): boolean =>
      !isInFlight && this.outcomes[i]?.wouldWait === undefined
    return [...new Set(this.limits.filter(takes).map(({ stateId }) => stateId))]
  }

  protected countLeased(now: number): void {
    for (const limit of this.limits) limit.countLeased(this.leases, now)
  }

  /** Completes the answer that was begun: where each limit stands now. */
  outcome(granted?: number): LimitOutcomeDraft[] {
    const { limits, outcomes } = this
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      const outcome = outcomes[i] as LimitOutcomeDraft
      const remaining = limit.remaining()
      outcome.remaining = remaining
      outcome.reset = limit.reset(remaining)
      if (granted !== undefined) outcome.granted = granted
      if (limit.leased > 0) outcome.leased = limit.leased
      const over = limit.over()
      if (over > 0) outcome.over = over
      const toppedUp = limit.toppedUp()
      if (toppedUp > 0) outcome.toppedUp = toppedUp
      if (limit.shortQuota !== undefined) outcome.shortQuota = limit.shortQuota
      if (limit.algorithm.inFlight) {
        outcome.reset = 0
        outcome.slot = limit.algorithm.slotOf?.(limit.state) ?? 0
      }
    }
    if (this.#block) this.#tellBlock(this.#block)
    return outcomes
  }

  /** Nothing is left before the block is over. */
  #tellBlock(block: BlockOutcome): void {
    for (const outcome of this.outcomes) {
      if (outcome.slot === undefined) {
        const reset = outcome.remaining === 0 ? outcome.reset : 0
        outcome.reset = Math.max(reset, block.endsInUs)
      }
      outcome.remaining = 0
      outcome.block = block
    }
  }

  /** A hold that was made before with the same id. */
  known(id: string, now: number): HoldOutcome | undefined {
    const living = findLiving(this.leases, id, now)
    return living && { delayUs: Math.max((living.timeUs ?? now) - now, 0), endsInUs: living.endUs - now }
  }

  /** How many reservations have not ended. */
  openReservations(now: number): number {
    let count = 0
    for (const group of this.leases)
      if (group.kind === 'reservation' && group.endUs > now) count += group.leases.size
    return count
  }

  /** How many places have their time to come. */
  #placesToCome(now: number): number {
    let count = 0
    for (const line of this.leases)
      if (line.kind === 'place') count += line.places.length - placesUntil(line, now)
    return count
  }

  /** When each of the limits can have the cost of a part; undefined if there is no place for it, or it must have it now. */
  openings({ cost, set }: SubRequest, hold: Hold, now: number): Opening[] | undefined {
    if (set.wait && this.#placesToCome(now) >= hold.most) return undefined
    const openings: Opening[] = []
    for (const [i, limit] of this.limits.entries()) {
      const wait = this.outcomes[i]?.wait ?? NEVER
      const mayWait = set.wait && !limit.isInFlight && !limit.isLenient && wait !== NEVER
      if (mayWait) openings.push(limit.opening(this.leases, cost, now))
      else if (wait !== 0) return undefined
    }
    return openings
  }

  /**
   * Puts the cost beside the limits. A slot is taken at once.
   *
   * @param ttlUs how long units of these limits count at most
   */
  protected putBeside(
    { cost }: SubRequest,
    hold: Hold,
    { delayUs, ttlUs }: { readonly delayUs: number; readonly ttlUs: number },
    now: number,
  ): void {
    const { kind, id, slackUs } = hold
    for (const [i, { isInFlight, algorithm, state, params }] of this.limits.entries()) {
      const takes = isInFlight && this.outcomes[i]?.wouldWait === undefined
      algorithm.take(state, takes ? cost : 0, params)
    }
    const stateIds = this.leasedIds()
    if (kind === 'place') {
      const place = { id, timeUs: now + delayUs, out: cost }
      this.leases = bookPlace(this.leases, place, { slackUs, countsForUs: ttlUs, stateIds }, now)
    } else {
      const endUs = reservationEnd(hold, now)
      const group = { kind, endUs, lagUs: 0, expiresUs: endUs, stateIds }
      this.leases = addLease(this.leases, { id, units: cost }, group)
    }
    this.countLeased(now)
  }
}
