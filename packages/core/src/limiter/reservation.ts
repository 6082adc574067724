import { clearTimeout, setTimeout } from '../base/timers.js'
import { type Request, needUnits, withHold } from '../requests/request.js'
import type { Hold } from '../stores/contract.js'
import { type Decision } from './decision/decision.js'
import { type Settling, hasSlots } from './settle/settlement.js'

/**
 * Units set aside for a request until its cost is known. If the store could not answer, the failure policy decided: then
 * `commit` does what `limiter.settle` does, and `cancel` what `limiter.refund` does.
 */
export interface Reservation {
  /** Whether the request may run. If not, nothing is held, and `decision` says why. */
  readonly allowed: boolean
  /** The decision on the cost that was reserved. */
  readonly decision: Decision
  /**
   * Counts what the request really cost, and gives the rest back. Units beyond the reserved ones are taken as far as they
   * fit; so are all units once the reservation has ended. Works once: a second call changes nothing and resolves to the
   * same number.
   *
   * @param units what the request cost in quota units: a whole number from 0
   * @returns the units that were counted in all; 0 if the reservation was denied or cancelled
   * @throws {TollgateError} ERR_TOLLGATE_COST for `units`
   */
  commit(units: number): Promise<number>
  /**
   * Gives all units back. Does nothing after `commit`.
   *
   * @returns whether the store gave any units back
   */
  cancel(): Promise<boolean>
}

/** What a reservation calls at its end. */
export interface ReservationEnd {
  readonly settling: Settling
  /** How long its units are held. */
  readonly lengthMs: number
  readonly onOver: (how: 'committed' | 'cancelled') => void
}

export class HeldReservation implements Reservation {
  readonly allowed: boolean
  readonly decision: Decision
  readonly #end: ReservationEnd
  #committed: Promise<number> | undefined
  readonly #timer: NodeJS.Timeout | undefined

  constructor(decision: Decision, end: ReservationEnd) {
    this.allowed = decision.allowed
    this.decision = decision
    this.#end = end
    // A reservation that is forgotten holds its slots no longer than its units.
    if (hasSlots(decision)) this.#timer = setTimeout(() => decision.release(), end.lengthMs).unref()
  }

  // Bound, so that they also work from a copy, and still only once.
  readonly commit = async (units: number): Promise<number> => {
    needUnits(units, 0, 'commit(1312)')
    this.#committed ??= this.#commit(units)
    return this.#committed
  }

  readonly cancel = async (): Promise<boolean> => {
    if (this.#committed) return false
    const cancelled = this.#end.settling.refund(this.decision)
    this.#committed = cancelled.then(() => 0)
    this.#over('cancelled')
    return cancelled
  }

  async #commit(units: number): Promise<number> {
    this.#over(units > 0 ? 'committed' : 'cancelled')
    if (!this.allowed) return 0
    return this.decision.source === 'unlimited' ? units : this.#end.settling.settle(this.decision, units)
  }

  #over(how: 'committed' | 'cancelled'): void {
    clearTimeout(this.#timer)
    this.decision.release()
    if (this.allowed) this.#end.onOver(how)
  }
}

/** The most open reservations of a subject, in all processes: each of its requests reads and writes them all. */
const MOST_OPEN = 1000

/** Makes a request, and each of its steps, ask for a reservation. */
export function reserving(request: Request, id: string, lengthMs: number): Request {
  const hold: Hold = { kind: 'reservation', id, lengthUs: lengthMs * 1000, slackUs: 0, most: MOST_OPEN }
  return withHold(request, hold)
}
