import { unitsThatFit } from './implementation.js'

export interface SlidingLogParams {
  readonly quota: number
  readonly windowUs: number
  /** Requests that come in the same slot of this length share an entry: 1 keeps every µs apart. */
  readonly slotUs: number
  /** Bytes of a count in the packed log; only the script needs it. */
  readonly unitBytes: number
}

/** The log: entry i holds `units[i]` units, the last of them taken at `times[i]`; oldest first, from `head`. */
export interface SlidingLogState {
  times: number[]
  units: number[]
  head: number
  total: number
  /** What is left of it now, and how far the clock has gone back since the last write (0 or less). */
  headNow: number
  totalNow: number
  shift: number
  now: number
}

/** What two bytes count. */
const MOST_ENTRIES = 2 ** 16 - 1

/** Adds units at their own time; an entry of the same slot takes them in, and has the later time. */
export function insert(
  state: SlidingLogState,
  units: number,
  at: number,
  { windowUs, slotUs }: SlidingLogParams,
): number {
  if (at + windowUs <= state.now) return units
  const { times, head } = state
  const i = firstFrom(state, at)
  const isAfter = i < times.length && sameSlot(times[i] as number, at, slotUs)
  const isBefore = !isAfter && i > head && sameSlot(times[i - 1] as number, at, slotUs)
  const fitting = unitsThatFit(units, state.total)
  if (fitting === 0 || (!isAfter && !isBefore && times.length - head >= MOST_ENTRIES)) return 0
  state.total = state.totalNow = state.total + fitting
  if (isAfter) state.units[i] = (state.units[i] as number) + fitting
  else if (isBefore) {
    times[i - 1] = at
    state.units[i - 1] = (state.units[i - 1] as number) + fitting
  } else {
    times.splice(i, 0, at)
    state.units.splice(i, 0, fitting)
  }
  return fitting
}

export function timeOf({ times, shift }: SlidingLogState, i: number): number {
  return (times[i] as number) + shift
}

/** Makes what `load` found the state. */
export function writeLog(state: SlidingLogState): void {
  const { shift } = state
  if (shift < 0) state.times = state.times.map((time) => time + shift)
  state.head = state.headNow
  state.total = state.totalNow
  state.shift = 0
  // Dropping from the front of an array costs its length, so it is done once for many.
  if (state.head > 32 && state.head * 2 > state.times.length) {
    state.times = state.times.slice(state.head)
    state.units = state.units.slice(state.head)
    state.head = state.headNow = 0
  }
}

export function sameSlot(a: number, b: number, slotUs: number): boolean {
  return a - (a % slotUs) === b - (b % slotUs)
}

/** The entry that units taken at `at` are in: the oldest that is not older, since merging only moves entries on. */
export function entryOf(state: SlidingLogState, at: number): number | undefined {
  const i = firstFrom(state, at)
  return i < state.times.length ? i : undefined
}

/** Where the entries begin that are not older. */
function firstFrom({ times, head }: SlidingLogState, at: number): number {
  let i = times.length
  while (i > head && (times[i - 1] as number) >= at) i -= 1
  return i
}
