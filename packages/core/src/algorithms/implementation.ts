import type { Duration } from '../base/duration.js'
import type { LimitTerms, Terms } from './limit-terms.js'

/** Units that go back: which they were, as their decision told it. Made by `receiptOf`, read by the algorithm alone. */
export interface Receipt {
  readonly units: number
  /** When they were taken, in µs of the store's clock. */
  readonly at: number
  /** What that decision said was left, in units. */
  readonly remaining: number
  /** What that decision said of the next unit: µs until it comes. */
  readonly reset: number
}

/** Units that were used of a limit while its store could not be asked. */
export interface Usage {
  readonly units: number
  /** How long ago, in µs, when the request leaves. */
  readonly ageUs: number
}

/**
 * One algorithm in TypeScript, the twin of the .lua file of the same name: the same steps, so the same
 * numbers (law 5). It knows nothing but numbers: times are whole µs, amounts are units, and the clock is an
 * argument. One request is decided like this: `load`, then `wait`; if every limit of the subject answers 0, `take`;
 * then `remaining` and `wait(remaining + 1)` for the answer.
 *
 * It owns all of itself: also the options that only it has, what a limit is in numbers, and how long that counts. So a
 * new algorithm is NAME.ts, NAME.lua and a line of the registry.
 *
 * @typeParam State  what a subject has used, as of its last write, and below it what `load` worked out
 * @typeParam Params the limit, compiled to numbers, in the order the script receives them
 * @typeParam Options what a user can say of such a limit and of no other
 * @typeParam Name   what users call it
 */
export interface Implementation<State, Params, Options = object, Name extends string = string> {
  /** Several can share a name: then the one that is meant by the options is used, else the one that never says so. */
  readonly name: Name
  /** The options that only it has. */
  readonly options: readonly (keyof Options & string)[]
  /** Whether a limit that names no algorithm, or this name, means this one by its options or its window. */
  isMeant?(options: Options, window: Duration): boolean
  /**
   * The limit in numbers.
   *
   * @throws {ConfigError} when an option of its own is wrong
   */
  compile(terms: LimitTerms<Options>): Terms
  /** The most units that can be taken at once. */
  capacity(params: Params): number
  /** The same limit with a part of its units, such as a half: whole ones, and at least one. */
  scale(params: Params, share: number): Params
  /** Marks this algorithm's part of a subject in Redis. Never reused, never changed. */
  readonly code: number
  /** The names of the parameters in the order the .lua twin reads them. */
  readonly wire: readonly (keyof Params & string)[]
  /** The state of a subject that has used nothing. */
  create(): State
  /**
   * Brings the state from its last write to now, for the calls that follow. What was written stays as it was
   * until `take` or `give`. A clock that went back counts as no time having passed.
   */
  load(state: State, last: number, now: number, params: Params): void
  /** Units that fit now, from 0 to the capacity. */
  remaining(state: State, params: Params): number
  /** µs until `cost` fits if nobody else consumes: 0 now, -1 never, -2 the calendar given does not reach now. */
  wait(state: State, cost: number, params: Params): number
  /** Takes units that fit; none: makes what `load` found the state. */
  take(state: State, cost: number, params: Params): void
  /**
   * Takes what was used while the store could not be asked, oldest first, as of when it was used and over the quota if
   * need be. Returns the units of it that are held now or no longer count: all, but for what the state has no room for.
   */
  force(state: State, used: readonly Usage[], params: Params): number
  /** Whether what is kept was kept for a limit so different that nothing can be given back by this one. */
  isOther?(state: State, params: Params): boolean
  /** Gives back those of the units that have not come back by themselves; whether there were any. */
  give(state: State, receipt: Receipt, params: Params): boolean
}

/** As a wait: the cost never fits. */
export const NEVER = -1
/** As a wait: the calendar given does not reach now. */
export const OUTSIDE_CALENDAR = -2
/** A clock that went back by more has what is kept written anew, also by a denial: it would stand still until then. */
export const CLOCK_WENT_BACK_US = 1_000_000
/** The largest count that a packed state holds: five bytes. */
const MOST_UNITS = 2 ** 40 - 1

/** How many of some units can be added to a count. */
export function unitsThatFit(units: number, count: number): number {
  return Math.max(Math.min(units, MOST_UNITS - count), 0)
}
