import type { Duration } from '../base/duration.js'
import type { LimitTerms, Terms } from './limit-terms.js'

/**
 * Units to give back to one limit, with the numbers of the decision that took them. `refundOf` makes it, and only the
 * algorithm reads it.
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
 * A receipt's `at`, if it is not known when its units were taken: those that have counted longest go back. They would
 * come back first anyway, so no later window counts less than was used, as long as the units that you mean still count.
 */
export const EARLIEST = -1

/** Units used while the store could not answer. */
export interface Usage {
  readonly units: number
  /** How long before the request to the store was sent they were used, in µs. */
  readonly ageUs: number
}

/**
 * An algorithm in TypeScript. It takes the same steps as its twin, the .lua file of the same name, so both give the same
 * numbers (law 5). It works on numbers only: times in whole µs, amounts in units, and the current time as an argument.
 *
 * To decide a request, call `load` and `wait` for each limit of the subject. If every `wait` returns 0, call `take` for
 * each. Then `remaining` and `wait(remaining + 1)` give the answer.
 *
 * Everything about an algorithm is here: its own options, its parameters, and how long its state is kept. So a new
 * algorithm is NAME.ts, NAME.lua and a line in the registry.
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
  /** Marks this algorithm's state in Redis: 1 to 7, since higher bits mark what only observes. Never reused, never changed. */
  readonly code: number
  /** The names of the parameters in the order the .lua twin reads them. */
  readonly wire: readonly (keyof Params & string)[]
  /** The state of a subject that has used nothing. */
  create(): State
  /** How the memory store keeps a state as numbers. Left out: it keeps each state as an object. */
  readonly packing?: Packing<State, Params>
  /**
   * Computes the state as of `now` (µs); `last` is the time of the last write (µs). The stored state stays as written
   * until `take`, `force` or `give`. If the clock went back, no time counts as passed.
   */
  load(state: State, last: number, now: number, params: Params): void
  /** The parameters for the state that was loaded, if they are not those of every subject. Called after `load`. */
  paramsFor?(state: State, params: Params): Params
  /**
   * A state made from the one that the limit had before the subject got a billing day; undefined if that counts nothing now.
   *
   * @param isBilled whether the window before that of now matters, too: with overage, it is billed
   */
  fromPlain?(
    state: { readonly count: number },
    last: number,
    params: Params,
    isBilled: boolean,
  ): State | undefined
  /** Whether a state of a billing window still matters. Its limit can have the parameters of a subject without a billing day. */
  stillSays?(state: State, now: number, params: Params): boolean
  /**
   * Set if its units are requests in flight: they come back when the request ends, and no other way. Then it has
   * `declare`, a request takes one unit whatever its cost, `wait` is a hint, and `force`, `enter` and `give` do nothing.
   */
  readonly inFlight?: true
  /**
   * Called after `load` if the request reports its process's slots: updates the process's row, to which `take` then adds.
   * Returns whether the number of slots has changed.
   */
  declare?(state: State, holder: SlotHolder, params: Params): boolean
  /**
   * Called instead of `declare`, after `load`: updates the stored row, and leaves its end as it is. Returns false if there
   * is no such row.
   */
  release?(state: State, holder: SlotHolder): boolean
  /** The number of the last slot of the holder that was declared. */
  slotOf?(state: State): number
  /** Units that fit now, from 0 to the capacity. */
  remaining(state: State, params: Params): number
  /** Units counted beyond the quota: set if the algorithm has the option `overage`. */
  over?(state: State, params: Params): number
  /** The window of now, if it has begun. Set together with `over`, and called after `load`, as is `closed`. */
  running?(state: State, params: Params): WindowUnits | undefined
  /**
   * The window in which units were counted last, if it is over.
   *
   * @param last the time of the last write, in µs
   */
  closed?(state: State, last: number, params: Params): WindowUnits | undefined
  /** Whether no whole window has passed since the end of one. Left out, as is `before`: windows do not follow one another. */
  isRecent?(endUs: number, now: number, params: Params): boolean
  /** The beginning and end of the window before that of now; undefined if it is not known. */
  before?(state: State, params: Params): readonly [startUs: number, endUs: number] | undefined
  /**
   * µs until `cost` fits if no other request takes units. 0: it fits now. -1: it never fits. -2: now is outside the
   * calendar windows that were sent.
   */
  wait(state: State, cost: number, params: Params): number
  /**
   * The next window, if it has fewer units than a whole one. `wait` takes it for a whole one, as the units that are left until then come
   * back in it.
   */
  short?(state: State, params: Params): ShortWindow | undefined
  /**
   * Decides a common request in one call instead of five, on the stored state. It gives the same numbers (law 5). Returns
   * undefined if the five calls must be made: then nothing has changed. Left out if `packing` has it.
   */
  quick?(state: State, request: QuickRequest, params: Params): LimitAnswer | undefined
  /**
   * µs until this many units have come free, counted from now, including those that are taken again meanwhile. So `units`
   * can be above the capacity. Left out: `wait` is asked.
   */
  place?(state: State, units: number, params: Params): number
  /**
   * Returns a function of a time in µs: how many units are left after it if no request takes any meanwhile. Below 0 while
   * the limit is over its quota. The function is called with growing times. Left out: `wait` is asked for each place in
   * line, which can cost more.
   */
  leftIn?(state: State, params: Params): (us: number) => number
  /**
   * Set together with `place` if units drain together: the level now. While it is empty nothing drains, so places after
   * such a time are later than `place` says.
   */
  flow?(state: State, params: Params): Flow
  /** Takes units that fit, and stores the state. With cost 0 it only stores what `load` computed. */
  take(state: State, cost: number, params: Params): void
  /**
   * Counts units that were used earlier, as of the time of their use, even over the quota.
   *
   * @param used the oldest first
   * @returns how many units are accounted for: all except those that the packed state has no room for. Units that are too
   *          old to count are accounted for, too
   */
  force(state: State, used: readonly Usage[], params: Params): number
  /**
   * Counts units that were on lease, as used `ageUs` ago, even over the quota. Called with the greatest age first. Left
   * out: `force` is called.
   */
  enter?(state: State, units: number, ageUs: number, params: Params): void
  /**
   * The most units that the stored state can still count. 0 only if the state says no more than that of a subject that
   * has used nothing.
   */
  unitsIn(state: State): number
  /** A state that counts this many units, all used at `atUs`, the time of its write. */
  stateOf(units: number, atUs: number): State
  /** The longest that units count after they were used, in µs. */
  countsForUs(params: Params): number
  /** How long its window is, in µs. Left out: as long as units count. */
  windowUs?(params: Params): number
  /**
   * Set if used units drain together instead of coming back one by one: how much of a level is left after a time in µs.
   * What other processes used drains at the same time. So for an outage the store is charged what is left of the level,
   * whenever its units were used.
   */
  leftAfter?(units: number, us: number, params: Params): number
  /** Whether the stored state is from a limit so different that this one cannot give units back to it. */
  isOther?(state: State, params: Params): boolean
  /** Gives units back, unless they have come back by themselves. Returns whether any were given. */
  give(state: State, receipt: Receipt, params: Params): boolean
}

/** A window, from its start to its end in µs by the store's clock, and the units that were counted in it. */
export interface WindowUnits {
  readonly units: number
  readonly startUs: number
  readonly endUs: number
}

/** A window that has fewer units than its limit. Times are µs from now. */
export interface ShortWindow {
  readonly quota: number
  readonly startsInUs: number
  readonly endsInUs: number
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
 * The requests of one process that are in flight under one key. A request takes a slot when it begins. Slots are given
 * back when a later message reports that fewer are held. The numbers are absolute, so the next message repairs what a
 * lost, late or repeated one left.
 *
 * A store keeps a row for each holder: how many slots it holds, the number of the last one, and when the row ends, which is
 * SLOTS_KEPT_MS after the holder's last slot or declaration.
 * - A message sets the row's slots to `held` + (the row's number - `known`), but at least to `held`. So slots that the
 *   store gave and the holder has not heard of yet count as held.
 * - It raises the row's number to `known`, if it is lower.
 * - A request that is let in adds one slot, with the next number.
 * - The store may keep what a denied request reports, or not.
 */
export interface SlotHolder {
  /** 6 letters, digits, `_` or `-`: a new one at each start of a process. */
  readonly id: string
  /** Requests in flight, without those that the store is being asked for. */
  readonly held: number
  /**
   * How many slot numbers, counted from 1, the holder has heard of or given up. This is not the highest number: a lower one
   * may be missing.
   */
  readonly known: number
}

/** A request to the quick way. */
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
  /**
   * µs until the cost fits if no other request takes units. 0: it fits now. -1: it never fits. While units are on lease, an
   * upper bound.
   */
  readonly wait: number
  /** Units left: a whole number from 0. Units on lease are not among them. */
  readonly remaining: number
  /** µs until another unit comes back; 0 if nothing is used. */
  readonly reset: number
}

/** How the memory store keeps a state as a few numbers, which take less room and time than an object. */
export interface Packing<State, Params> {
  /** How many numbers. When all of them are 0, they stand for the state that `create` returns. */
  readonly size: number
  /** Sets all of the state, which may have been another subject's, from the numbers that begin at `at`. */
  unpack(state: State, numbers: Float64Array, at: number): void
  /** Writes the stored state as numbers. Returns false if they cannot hold it: it is then kept as an object. */
  pack(state: State, numbers: Float64Array, at: number): boolean
  /** As `quick` of the implementation, on the numbers from `at` on. */
  quick?(numbers: Float64Array, at: number, request: QuickRequest, params: Params): LimitAnswer | undefined
  /** Whether `quick` reads only parameters that never change. */
  readonly isQuickSteady?: true
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
