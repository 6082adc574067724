import { clearTimeout, setTimeout } from '../base/timers.js'
import { type Request, needUnits, withHold } from '../requests/request.js'
import type { Hold } from '../stores/contract.js'
import { type Decision } from './decision/decision.js'
import { type Settling, hasSlots } from './settle/settlement.js'

/**
 * Units that a request holds until its cost is known. While the store cannot answer, the failure policy's decision
 * applies: then `commit` does what `limiter.settle` does, and `cancel` what `limiter.refund` does.
 */
export interface Reservation {
  /** Whether the units are held. False: the cost did not fit; `decision` says why. */
  readonly allowed: boolean
  readonly decision: Decision
  /**
   * Counts what the request cost in the end, and gives the rest back. What is more than was reserved, or comes after the end
   * of the reservation, is taken as far as it fits. Works once: a second call resolves to the same and changes nothing.
   *
   * @param units quota units, a whole number from 0
   * @returns the units that were counted in all; 0 if the reservation was denied or cancelled
   * @throws {TollgateError} ERR_TOLLGATE_COST
   */
  commit(units: number): Promise<number>
  /**
   * Gives all units back. Does nothing after `commit`.
   *
   * @returns whether the store gave any units back
   */
  cancel(): Promise<boolean>
}

/** Who settles a reservation, and who counts it. */
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

/** The most reservations of a subject, in all processes: each of its requests reads and writes them all. */
const MOST_OPEN = 1000

/** The request, and each of its steps, asking for a reservation. */
export function reserving(request: Request, id: string, lengthMs: number): Request {
  const hold: Hold = { kind: 'reservation', id, lengthUs: lengthMs * 1000, slackUs: 0, most: MOST_OPEN }
  return withHold(request, hold)
}
