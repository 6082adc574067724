import type { LimitSet } from '../../../src/plans/limit/limit-set.js'

export interface WorldOptions {
  /** The plan, whose requests wait. */
  readonly set: LimitSet
  /** How many processes there are. */
  readonly processes: number
  /** How many unlikely things may happen. */
  readonly rare: number
  /** Which of them; default: all. */
  readonly kinds?: readonly Rare[] | undefined
  /** Breaks one rule on purpose. */
  readonly flaw?: Flaw | undefined
}

export const RARE = [
  'crash',
  'pause',
  'lose',
  'mute',
  'again',
  'back',
  'hour',
  'forward',
  'flush',
  'close',
  'refund',
] as const
export type Rare = (typeof RARE)[number]

/** Rules that tests break, to see that the checker notices. */
export type Flaw =
  | 'tells a shorter delay'
  | 'tells a later end'
  | 'forgets its timers'
  | 'tells when it was heard'
  | 'loses what those who leave report'
  | 'places are not held'
  | 'a booking moves a place'
  | 'repeats with another id'
  | 'gives back twice'
  | 'time stands still in the end'

/** The time between two steps of the clock, in ms. */
export const TICK_MS = 50
/** How long a request waits for the store, in ms. */
export const DEADLINE_MS = 100
