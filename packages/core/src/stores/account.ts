// What requests and answers say about what is booked on a limit: top-ups, renewals and penalties.

/**
 * An entry in the account of a key. A store books it once for its id, until the limit's window is over, and for at least seven days:
 * - `topUp`: the limit has these units beside its quota, in any window, until the entry's end. They are used after the quota, and once.
 *   Units that come back in the same window fill the top-up before the quota.
 * - `renewal`: the limit begins afresh now. What was taken before does not come back any more.
 * - `penalty`: these units count as used now, over the quota if need be.
 * - `usage`: nothing is booked. The answer says what the limit has counted.
 */
export interface AccountEntry {
  readonly kind: 'topUp' | 'renewal' | 'penalty' | 'usage'
  /** 12 letters, digits, `_` or `-`. */
  readonly id: string
  /** 6 letters, digits, `_` or `-` that stand for all that the entry says. The same id with others is refused. */
  readonly says: string
  /** The position of the limit in its set. A top-up is only for a limit whose algorithm has windows that begin and end. */
  readonly limit: number
  /** Units of a top-up or penalty: a whole number from 1. Else 0. */
  readonly units: number
  /** When a top-up ends, in µs by the store's clock, or how long after now. Else 0. */
  readonly end: { readonly at: number } | { readonly inUs: number }
}

/**
 * What became of an entry. `booked`: it counts. `repeated`: it counted before. Nothing has changed with `other` (its id is known with
 * another `says`), `full` (the key has 64 entries) and `late` (its end is over).
 */
export type Booked = 'booked' | 'repeated' | 'other' | 'full' | 'late'

/** What a limit counted in one of its windows. Times are in µs by the store's clock. */
export interface CountedWindow {
  /** All units, and those beyond the quota that no top-up paid. */
  readonly units: number
  readonly over: number
  readonly startUs: number
  readonly endUs: number
}

/**
 * What a limit has counted: in the window of now, if it has begun, and in the window before it if a limit with `overage` counted units in that
 * one. A store keeps this for a window, with the units beyond the quota that they were counted with: the subject can be on another plan by
 * now.
 */
export interface LimitUsage {
  readonly running?: CountedWindow | undefined
  readonly closed?: CountedWindow | undefined
}
