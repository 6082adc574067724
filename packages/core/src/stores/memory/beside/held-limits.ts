import { NEVER } from '../../../algorithms/implementation.js'
import type { Hold, HoldOutcome, SubRequest } from '../../contract.js'
import { knownHold, openReservations, placesToCome, reservationEnd } from './hold-decision.js'
import { addLease, bookPlace } from './lease-book.js'
import { LoadedLimits, type LimitOutcomeDraft } from '../loaded-limits.js'
import type { Opening } from './place-line.js'

/** The limits of one subject, and what is reserved or has a place beside them. */
export class HeldLimits extends LoadedLimits {
  /** A hold that was made before with the same id. */
  known(id: string, now: number): HoldOutcome | undefined {
    return knownHold(this.leases, id, now)
  }

  openReservations(now: number): number {
    return openReservations(this.leases, now)
  }

  /**
   * When each of the limits can have the cost of a part; undefined if there is no place for it, or it must have it now.
   *
   * @param outcomes of its limits: how long each of them has to wait
   */
  openings(
    { cost, set }: SubRequest,
    outcomes: readonly LimitOutcomeDraft[],
    hold: Hold,
    now: number,
  ): Opening[] | undefined {
    if (set.wait && placesToCome(this.leases, now) >= hold.most) return undefined
    const openings: Opening[] = []
    for (const [i, limit] of this.limits.entries()) {
      const wait = outcomes[i]?.wait ?? NEVER
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
