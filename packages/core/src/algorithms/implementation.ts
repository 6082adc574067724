import type { Duration } from '../base/duration.js'
import type { LimitTerms, Terms } from './limit-terms.js'

/**
 * Units to give back, with the numbers of the decision that took them. Made by `receiptOf`, read only by the algorithm.
 */
export interface Receipt {
  readonly units: number
  /** When they were taken, in µs of the store's clock; EARLIEST if that is not known. */
  readonly at: number
  /** Units left after they were taken, as the decision said. */
  readonly remaining: number
  /** µs until the next unit comes, as the decision said. */
  readonly reset: number
}

/**
 * In place of the time of units: those that have counted longest are given back. They come back first, so no later window
 * counts less than was used, as long as the units that are meant still count.
 */
export const EARLIEST = -1

/** Units used while the store could not answer. */
export interface Usage {
  readonly units: number
  /** How long ago they were used, in µs, counted from when the request to the store is sent. */
  readonly ageUs: number
}

/**
 * One algorithm in TypeScript, the twin of the .lua file of the same name: the same steps, so the same numbers (law 5).
 * It works on numbers only: times in whole µs, amounts in units, and the current time as an argument. A request is
 * decided by `load`, then `wait`; if every limit of the subject answers 0, `take`; then `remaining` and
 * `wait(remaining + 1)` give the answer.
 *
 * Everything about an algorithm is here: its own options, its parameters, and how long its state is kept. So a new
 * algorithm is NAME.ts, NAME.lua and a line of the registry.
 *
 * @typeParam State   what a subject has used as of the last write, and what `load` derives from that
 * @typeParam Params  the limit, compiled to numbers
 * @typeParam Options the options that only this algorithm has
 * @typeParam Name    the name that users write
 */
export interface Implementation<State, Params, Options = object, Name extends string = string> {
  /**
   * The name that users write. Several algorithms can share it: the one whose `isMeant` says yes is used, else the one
   * without `isMeant`.
   */
  readonly name: Name
  /** The options that only this algorithm has. */
  readonly options: readonly (keyof Options & string)[]
  /**
   * Whether the options or the window call for this algorithm. Only asked when the limit names no algorithm, or this
   * one.
   */
  isMeant?(options: Options, window: Duration): boolean
  /** What `isMeant` looks for, in words: `burst`. Set together with it. */
  readonly calledForBy?: string
  /**
   * Compiles a limit to numbers.
   *
   * @throws {ConfigError} when an option of this algorithm is wrong
   */
  compile(terms: LimitTerms<Options>): Terms
  /** The most units that one request can take. */
  capacity(params: Params): number
  /** The same limit with a share (0 to 1) of its units, rounded down, but at least one. */
  scale(params: Params, share: number): Params
  /** Marks this algorithm's state in Redis. Never reused, never changed. */
  readonly code: number
  /** The names of the parameters in the order the .lua twin reads them. */
  readonly wire: readonly (keyof Params & string)[]
  /** The state of a subject that has used nothing. */
  create(): State
  /** Left out: the memory store keeps each state as an object. */
  readonly packing?: Packing<State, Params>
  /**
   * Computes the state as of `now` (µs); `last` is the time of the last write (µs). The stored state stays as written
   * until `take`, `force` or `give`. A clock that went back counts as no time passed.
   */
  load(state: State, last: number, now: number, params: Params): void
  /**
   * Set if its units are requests in flight: they come back when the request ends, and no other way. Then it has
   * `declare`, a request takes one unit whatever its cost, `wait` is a hint, and `force`, `enter` and `give` do nothing.
   */
  readonly inFlight?: true
  /**
   * Called after `load` if the request tells of the slots of its process: makes its row say so, and lets `take` add to it.
   * Returns whether the row was another before.
   */
  declare?(state: State, holder: SlotHolder, params: Params): boolean
  /**
   * Called instead of `declare`, after `load`: makes the row say so where it is stored, without a new end. Returns false
   * if there is no such row.
   */
  release?(state: State, holder: SlotHolder): boolean
  /** The number of the last slot of the holder that was declared. */
  slotOf?(state: State): number
  /** Units that fit now, from 0 to the capacity. */
  remaining(state: State, params: Params): number
  /**
   * µs until `cost` fits if nobody else consumes: 0: it fits now; -1: never; -2: the calendar sent does not include
   * now.
   */
  wait(state: State, cost: number, params: Params): number
  /**
   * Decides a request in one call instead of five, on a state as it was stored, if that is a common one; law 5 holds for
   * it, too. Left out where `packing` has it. Returns undefined where the five calls must be made: then nothing has
   * changed.
   */
  quick?(state: State, request: QuickRequest, params: Params): LimitAnswer | undefined
  /**
   * µs until so many units have come free, counted from now, with those that came free and were taken meanwhile. So it
   * can be asked for more than the capacity. Left out: `wait`.
   */
  place?(state: State, units: number, params: Params): number
  /**
   * How many units have come free after some time in µs, if nobody consumes meanwhile: below 0 while it is over the quota. What
   * it returns is called with growing times. Left out: `wait` is asked for each place in line, which can cost more.
   */
  leftIn?(state: State, params: Params): (us: number) => number
  /**
   * Set together with `place` where units drain together: the level now. What it could drain while it is dry is lost, so
   * places behind such a time are later than `place` says.
   */
  flow?(state: State, params: Params): Flow
  /** Takes units that fit, and stores the state. With cost 0 it only stores what `load` computed. */
  take(state: State, cost: number, params: Params): void
  /**
   * Takes units that were used earlier, the oldest first, at the time of their use, and over the quota if need be.
   * Returns how many units are accounted for: all except those that the packed state has no room for. Units that are
   * too old to count are accounted for, too.
   */
  force(state: State, used: readonly Usage[], params: Params): number
  /**
   * Units that were on lease count from now on: as used `ageUs` ago, over the quota if need be. Left out: by `force`.
   * Called with the greatest age first.
   */
  enter?(state: State, units: number, ageUs: number, params: Params): void
  /**
   * The most units that the stored state can still count. 0 only if the state says no more than that of a subject that has
   * used nothing.
   */
  unitsIn(state: State): number
  /** A state that counts so many units, all of them used at `atUs`, the time of its write. */
  stateOf(units: number, atUs: number): State
  /** The longest that units count after they were used, in µs. */
  countsForUs(params: Params): number
  /**
   * The units of a level that are left after a time in µs, if used units drain together instead of coming back one by
   * one. What other processes used drains in the same time, so an outage is charged by what is left of the level and not
   * by when its units were used.
   */
  leftAfter?(units: number, us: number, params: Params): number
  /** Whether the stored state is from a limit so different that this one cannot give units back to it. */
  isOther?(state: State, params: Params): boolean
  /** Gives units back, unless they have come back by themselves. Returns whether any were given. */
  give(state: State, receipt: Receipt, params: Params): boolean
}

/** A level that drains evenly. */
export interface Flow {
  /** Units in it now, and the most that it holds. */
  readonly level: number
  readonly most: number
  /** How many units drain in a µs. */
  readonly perUs: number
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

/** What the quick way is asked. */
export interface QuickRequest {
  readonly cost: number
  /** Whether the cost is taken if it fits. */
  readonly takes: boolean
  /** When the state was written, in µs; never after `now`. */
  readonly last: number
  readonly now: number
}

/** Where a limit stands after a request. Times are whole µs, at most 2^53 - 1. */
export interface LimitAnswer {
  /** µs until the cost fits if nobody else consumes: 0 it fits now, -1 never. While units are on lease, an upper bound. */
  readonly wait: number
  /** Units left: a whole number from 0. Units on lease are not among them. */
  readonly remaining: number
  /** µs until another unit is there; 0 when nothing is used. */
  readonly reset: number
}

/** How the memory store keeps a state as a few numbers, which take less room and time than an object. */
export interface Packing<State, Params> {
  /** How many numbers. When all of them are 0, they stand for the state that `create` returns. */
  readonly size: number
  /** Makes the state, which may have been another subject's, what the numbers from `at` on say. */
  unpack(state: State, numbers: Float64Array, at: number): void
  /** Writes the stored state as numbers. Returns false if they cannot hold it: it is then kept as an object. */
  pack(state: State, numbers: Float64Array, at: number): boolean
  /** As `quick` of the implementation, on the numbers from `at` on. */
  quick?(numbers: Float64Array, at: number, request: QuickRequest, params: Params): LimitAnswer | undefined
}

/** A result of `wait`: the cost never fits. */
export const NEVER = -1
/** A result of `wait`: now is not in any of the calendar windows that were sent. */
export const OUTSIDE_CALENDAR = -2
/**
 * When the clock went back by more than this, even a denial rewrites the state. Otherwise the state would not age until
 * the clock has caught up with the last write.
 */
export const CLOCK_WENT_BACK_US = 1_000_000
/** The largest count that a packed state holds: five bytes. */
export const MOST_UNITS = 2 ** 40 - 1

/** How many of `units` a packed count still has room for. */
export function unitsThatFit(units: number, count: number): number {
  return Math.max(Math.min(units, MOST_UNITS - count), 0)
}

/**
 * The answer of a counter whose window ends in `toCome` µs, when nothing is taken.
 *
 * @param left units up to the quota; below 0 when the count is above it
 */
export function answerOfWindow(cost: number, left: number, quota: number, toCome: number): LimitAnswer {
  const wait = cost > quota ? NEVER : cost <= left ? 0 : toCome
  return { wait, remaining: Math.max(left, 0), reset: left === quota ? 0 : toCome }
}
