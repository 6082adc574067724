import type { LimitSet } from '../../../src/plans/limit/limit-set.js'

export interface WorldOptions {
  /** The plan, and what it is changed to. */
  readonly sets: readonly [LimitSet, LimitSet]
  /** Of each process: a lease has a quarter more than this times its length in ms. */
  readonly unitsPerMs: number
  /** Processes whose messages arrive at once, and their answers: fewer things can happen then. */
  readonly atOnce?: readonly number[] | undefined
  /** How many unlikely things may happen. */
  readonly rare: number
  /** Which of them; default: all. */
  readonly kinds?: readonly Rare[] | undefined
  /** Whether every answer of the store is compared with the reference, which takes time. */
  readonly isCompared?: boolean | undefined
  /** Breaks one rule on purpose. */
  readonly flaw?: Flaw | undefined
}

export const RARE = [
  'crash',
  'fail',
  'lose',
  'again',
  'forward',
  'backward',
  'plan',
  'reset',
  'refund',
] as const
export type Rare = (typeof RARE)[number]

/** Rules that tests break, to see that the checker notices. */
export type Flaw =
  | 'serves after the end'
  | 'reports too little'
  | 'leases are not counted'
  | 'an end is not counted'
  | 'repeats with another id'
  | 'refunds twice'
  | 'a denial takes'
  | 'tells what is on lease'
  | 'tells a shorter wait'
  | 'time stands still in the end'
