import { NEVER, type Receipt, type Usage } from '../../algorithms/implementation.js'
import type {
  Hold,
  HoldOutcome,
  LeaseOrder,
  LeaseWish,
  LimitOutcome,
  SlotHolder,
  SubRequest,
} from '../contract.js'
import { endAfter, reservationEnd } from './beside/hold-decision.js'
import {
  addLease,
  bookPlace,
  findLiving,
  NO_LEASES,
  settleReport,
  type LeaseBook,
} from './beside/lease-book.js'
import { placesUntil, type Opening } from './beside/place-line.js'
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
  /** Whether the request told of other slots than the subject's state. */
  hasDeclared = false

  #outcomes: LimitOutcomeDraft[] = []

  /** Whether the cost of which `wait` was asked fits all limits now. */
  get fits(): boolean {
    return this.#outcomes.every(({ wait }) => wait === 0)
  }

  /** Begins an answer in which nothing is waited for. */
  begin(granted?: readonly number[]): void {
    this.#outcomes = this.limits.map((_, i) => {
      const outcome = { wait: 0, remaining: 0, reset: 0 }
      return granted ? { ...outcome, granted: granted[i] ?? 0 } : outcome
    })
  }

  /** Begins an answer with the µs until the cost fits each limit. Returns whether it fits all of them now. */
  wait(cost: number): boolean {
    const limits = this.limits
    let fits = true
    this.#outcomes = []
    for (let i = 0; i < limits.length; i += 1) {
      const wait = (limits[i] as PreparedLimit).wait(cost)
      this.#outcomes.push({ wait, remaining: 0, reset: 0 })
      if (wait !== 0) fits = false
    }
    return fits
  }

  /** Tells of a process's slots, if a limit counts them. Returns whether its row said anything else. */
  declare(holder: SlotHolder | undefined): boolean {
    this.hasDeclared = false
    if (!holder) return false
    for (const limit of this.limits) if (limit.algorithm.inFlight) this.hasDeclared = limit.declare(holder)
    return this.hasDeclared
  }

  /** How many units fit all limits now. */
  unitsThatFitAll(): number {
    let least = Number.MAX_SAFE_INTEGER
    for (const limit of this.limits) if (!limit.isInFlight) least = Math.min(least, limit.remaining())
    return least
  }

  take(cost: number): void {
    const limits = this.limits
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      algorithm.take(state, cost, params)
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
    for (const [i, { algorithm, state, params }] of this.limits.entries()) {
      const receipt = receipts[i]
      if (receipt === undefined || receipt.units === 0) algorithm.take(state, 0, params)
      else if (algorithm.give(state, receipt, params)) anyGiven = true
    }
    return anyGiven
  }

  /** Counts what reports tell as used. Returns whether they changed anything, and whether all their leases are known. */
  settle({ reports }: LeaseOrder, now: number): { readonly hasChanged: boolean; readonly isKnown: boolean } {
    const before = this.leases
    const used: Usage[] = []
    let isKnown = true
    for (const report of reports) {
      const settled = settleReport(this.leases, report, now)
      this.leases = settled.book
      used.push(settled.used)
      if (!settled.isKnown) isKnown = false
    }
    for (const { units, ageUs } of used.sort((a, b) => b.ageUs - a.ageUs)) {
      for (const limit of this.limits) if (units > 0 && !limit.isInFlight) limit.enter(units, ageUs)
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
    const units = Math.min(most, Math.floor(this.unitsThatFitAll() * share))
    if (units < Math.max(least, 1) || endUs <= now) return NOTHING_GRANTED
    const ends = { endUs, lagUs, expiresUs: endUs + ttlUs }
    this.leases = addLease(this.leases, { id, units }, { kind: 'lease', ...ends, stateIds: this.leasedIds() })
    this.countLeased(now)
    return { units, endsInUs: endUs - now, isNew: true }
  }

  /** The limits whose units come back with time, each once. */
  protected leasedIds(): number[] {
    return [...new Set(this.limits.filter(({ isInFlight }) => !isInFlight).map(({ stateId }) => stateId))]
  }

  protected countLeased(now: number): void {
    for (const limit of this.limits) limit.countLeased(this.leases, now)
  }

  /** Completes the answer that was begun: where each limit stands now. */
  outcome(granted?: number): LimitOutcomeDraft[] {
    const limits = this.limits
    const outcomes = this.#outcomes
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      const outcome = outcomes[i] as LimitOutcomeDraft
      const remaining = limit.remaining()
      outcome.remaining = remaining
      outcome.reset = Math.max(limit.wait(remaining + 1), 0)
      if (granted !== undefined) outcome.granted = granted
      if (limit.leased > 0) outcome.leased = limit.leased
      if (limit.algorithm.inFlight) {
        outcome.reset = 0
        outcome.slot = limit.algorithm.slotOf?.(limit.state) ?? 0
      }
    }
    return outcomes
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
      const wait = this.#outcomes[i]?.wait ?? NEVER
      const mayWait = set.wait && !limit.isInFlight && wait !== NEVER
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
    for (const { isInFlight, algorithm, state, params } of this.limits) {
      algorithm.take(state, isInFlight ? cost : 0, params)
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
