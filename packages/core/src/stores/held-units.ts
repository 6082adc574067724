/** What processes hold of a subject's limits: units on lease, reserved or in places, and slots of requests in flight. */

/**
 * What a process tells of its leases of a key, and the next one that it asks for. Units on lease are counted beside the
 * limits: nobody else can take them. They enter the limits when they are reported as used, or when the lease ends.
 */
export interface LeaseOrder {
  readonly reports: readonly LeaseReport[]
  /** Left out: nothing is asked for. */
  readonly wish?: LeaseWish | undefined
}

/** Both numbers are totals, so a report counts once however often it arrives. Without such a lease it changes nothing. */
export interface LeaseReport {
  /** As in its wish. */
  readonly id: string
  /** Units of the lease that were used so far. */
  readonly used: number
  /** Units of it that the process still holds: the others can be taken again. 0 ends the lease. */
  readonly left: number
}

export interface LeaseWish {
  /** 12 letters, digits, `_` or `-`, unique among the leases of a key. A second wish with it gets what the first got. */
  readonly id: string
  /** The most units, and the fewest: the store leases none rather than fewer. */
  readonly most: number
  readonly least: number
  /** The most that may be leased of the units that are left, from 0 to 1. */
  readonly share: number
  /** The longest that the lease lasts, in whole µs. */
  readonly lengthUs: number
  /** How long before the end of the lease its units count as used, in whole µs. 0: when they are reported, or at the end. */
  readonly lagUs: number
}

export interface LeaseOutcome {
  /** When the new lease ends, in µs after `at`; 0 if there is none. */
  readonly endsInUs: number
  /**
   * Whether the store knows each lease of which units were reported as used or left. If not, they must not be served any more,
   * and the store may not have counted what was used.
   */
  readonly isKnown: boolean
}

/**
 * Asks to put the cost of a request beside the limits instead of taking it, as a lease does: nobody else can have these
 * units. Only with the grant `all`, and only asked of stores with `holds`. It is made smaller, or ended, by reports in a
 * `LeaseOrder`, one for each key.
 * - `reservation`: if the cost fits now. What is still held at the end comes back, and never counts as used.
 * - `place`: if the cost does not fit now, but will within `lengthUs`, after all places that were booked before, or in one
 *   that was given back. Parts whose set has no `wait` must have room now, and are taken from at once. The units enter
 *   the limits at the end, `slackUs` after the time of the place. If the cost fits now it is taken, and nothing is held.
 */
export interface Hold {
  readonly kind: 'reservation' | 'place'
  /** As the id of a LeaseWish. The same for all its keys. */
  readonly id: string
  /** Reservation: how long it lasts at least; place: the longest delay. In whole µs. */
  readonly lengthUs: number
  /** Of a place: for how long after its time it can be used, in whole µs. */
  readonly slackUs: number
  /** The most reservations of a key, or places whose time is still to come. With more of them it is denied. */
  readonly most: number
}

export interface HoldOutcome {
  /** Of a place: in how many µs after `at` its time comes. 0: the cost was taken at once, or it is a reservation. */
  readonly delayUs: number
  /** When the hold ends, in µs after `at`: a reservation up to 1/64 later than asked for. 0: nothing is held. */
  readonly endsInUs: number
}

/**
 * The requests of one process that are in flight, of one key. A slot is taken by a request when it begins. It is given
 * back by telling, with any later request, that fewer are held: the numbers are absolute, so whatever message is lost,
 * late or repeated, the next one puts them right.
 *
 * A store has a row for each holder: how many slots it holds, the number of the last one, and when the row ends:
 * SLOTS_KEPT_MS after the holder's last slot or declaration. A message makes the slots of its row `held` + (number of the row - `known`),
 * at least `held`: those that the store gave and the holder has not heard of yet are held, too. It makes the number of
 * the row at least `known`. A request that is granted gets one more, with the next number. What a denied request tells may be
 * kept, or not.
 */
export interface SlotHolder {
  /** 6 letters, digits, `_` or `-`: another at every start of a process. */
  readonly id: string
  /** Requests in flight, without those that the store is being asked for. */
  readonly held: number
  /** How many numbers the holder has accounted for, counted from 1: heard of, or given up. Not the highest: one may be missing. */
  readonly known: number
}
