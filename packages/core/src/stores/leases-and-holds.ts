/**
 * What a process reports of its leases of a key, and the next one that it asks for. Units on lease are counted beside the limits,
 * where no other process can take them. They enter the limits when they are reported as used, or when the lease ends.
 */
export interface LeaseOrder {
  readonly reports: readonly LeaseReport[]
  /** The lease that the process asks for. Left out: none. */
  readonly wish?: LeaseWish | undefined
}

/**
 * What a process reports of one lease. Both numbers are totals, so a report counts once, however often it arrives. If the store
 * has no such lease, the report changes nothing.
 */
export interface LeaseReport {
  /** The id of the wish for which the lease was granted. */
  readonly id: string
  /** The lease's units that were used so far. */
  readonly used: number
  /** The lease's units that the process still holds. The others can be taken again. 0 ends the lease. */
  readonly left: number
}

/** The lease that a process asks for. */
export interface LeaseWish {
  /** 12 letters, digits, `_` or `-`, unique among a key's leases. A second wish with the same id gets what the first got. */
  readonly id: string
  /** The most units to lease. */
  readonly most: number
  /** The fewest units to lease. Rather than fewer, the store leases none. */
  readonly least: number
  /** The largest share of the remaining units that may be leased, from 0 to 1. */
  readonly share: number
  /** The longest that the lease lasts, in whole µs. */
  readonly lengthUs: number
  /** How long before the lease's end its units count as used, in whole µs. 0: when they are reported, or at the end. */
  readonly lagUs: number
}

/** What became of a lease order. */
export interface LeaseOutcome {
  /** When the new lease ends, in µs after `at`; 0 if there is none. */
  readonly endsInUs: number
  /**
   * Whether the store knows every lease whose units were reported as used or left. If not, the process must no longer serve
   * them, and the store may not have counted what was used.
   */
  readonly isKnown: boolean
}

/**
 * Puts the cost beside the limits, as a lease does, so that no other request can take these units. Only for stores with `holds`.
 * Reports in a `LeaseOrder`, one for each key, make a hold smaller or end it.
 * - `reservation`: made if the cost fits now. What is still held at the end comes back, and never counts as used.
 * - `place`: booked if the cost does not fit now, but will within `lengthUs`: after all earlier places, or in one that was given
 *   back. Parts whose set has no `wait` must have room now, and their units are taken at once. The place's units enter the limits
 *   at its end, `slackUs` after its time. If the whole cost fits now, it is taken, and nothing is held.
 */
export interface Hold {
  readonly kind: 'reservation' | 'place'
  /** Like the id of a LeaseWish. The same for all its keys. */
  readonly id: string
  /** A reservation's shortest length, or a place's longest delay, in whole µs. */
  readonly lengthUs: number
  /** How long after its time a place can be used, in whole µs. */
  readonly slackUs: number
  /** The most reservations of a key, or places whose time is still to come. With more of them, the request is denied. */
  readonly most: number
}

/** What became of a hold. */
export interface HoldOutcome {
  /** In how many µs after `at` the place's time comes. 0: the cost was taken at once, or it is a reservation. */
  readonly delayUs: number
  /** When the hold ends, in µs after `at`. A reservation may last up to 1/64 longer than asked. 0: nothing is held. */
  readonly endsInUs: number
}
