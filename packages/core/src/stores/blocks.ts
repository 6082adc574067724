// What requests and answers say about denials that block a key: see the plan option `blockAfter`.

/**
 * Denials of a key that a process answered from memory, as a total. So a report counts once, however often it arrives. With a new
 * number the total begins at 0 again. The process must not begin one before it has heard that the last total was counted.
 */
export interface DenialTally {
  /** 6 letters, digits, `_` or `-`, unique to the process. */
  readonly by: string
  /** The number of this tally, from 1. Later tallies of the process have larger ones. */
  readonly number: number
  /** The denials so far. */
  readonly total: number
  /** How long ago the first of them was, in whole µs. */
  readonly ageUs: number
}

/** The block of a key. */
export interface BlockOutcome {
  /** When it ends, in µs after `at`; from 1. */
  readonly endsInUs: number
  /** How many blocks the key had, this one included, since its denials were last forgotten. At most 255. */
  readonly level: number
  /** Set for one request: the one whose denial, or whose tally, began the block. */
  readonly isNew?: true | undefined
}
