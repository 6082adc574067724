import { NEVER } from '../../algorithms/implementation.js'
import type { Hold, HoldOutcome, SubRequest } from '../contract.js'
import { holdEnd, knownHold, openReservations, placesToCome } from './hold-book.js'
import { addLease } from './lease-book.js'
import { LoadedLimits, type LimitOutcomeDraft } from './loaded-limits.js'

/** A place that is sought. */
export interface Delayed {
  readonly hold: Hold
  readonly fromUs: number
  readonly outcomes: readonly LimitOutcomeDraft[]
}

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
   * In how many µs a part has its cost, at least `fromUs`; undefined if later than a place may be, or it must have it now.
   *
   * @param outcomes of its limits: how long each of them has to wait
   */
  delay({ cost, set }: SubRequest, { hold, fromUs, outcomes }: Delayed, now: number): number | undefined {
    if (set.wait && placesToCome(this.leases, now) >= hold.most) return undefined
    let delay = fromUs
    for (const [i, limit] of this.limits.entries()) {
      const wait = outcomes[i]?.wait ?? NEVER
      const mayWait = set.wait && !limit.isInFlight && wait !== NEVER
      if (!mayWait && wait !== 0) return undefined
      const fitsIn = mayWait ? limit.timeInLine(this.leases, { cost, fromUs: delay }, now) : 0
      if (fitsIn === NEVER || fitsIn > hold.lengthUs) return undefined
      delay = Math.max(delay, fitsIn)
    }
    return delay
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
    const { kind, id } = hold
    const isPlace = kind === 'place'
    for (const { isInFlight, algorithm, state, params } of this.limits) {
      algorithm.take(state, isInFlight ? cost : 0, params)
    }
    const endUs = holdEnd(hold, delayUs, now)
    const slackUs = isPlace ? hold.slackUs : 0
    const expiresUs = isPlace ? endUs + ttlUs : endUs
    const group = { kind, endUs, lagUs: 0, slackUs, expiresUs, stateIds: this.leasedIds() }
    this.leases = addLease(this.leases, { id, units: cost }, group)
    this.countLeased(now)
  }
}
