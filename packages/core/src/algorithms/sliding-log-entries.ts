import { unitsThatFit } from './implementation.js'

export interface SlidingLogParams {
  readonly quota: number
  readonly windowUs: number
  /** Requests in the same slot of this length share an entry; 1 keeps every µs apart. */
  readonly slotUs: number
  /** Bytes of one count in the packed log; only the Redis script needs it. */
  readonly unitBytes: number
}

/** The log: entry i holds `units[i]` units, the last of them taken at `times[i]` (µs); oldest first, from `head`. */
export interface SlidingLogState {
  times: number[]
  units: number[]
  head: number
  total: number
  /**
   * The same as of now, without expired entries. `shift`: how far the clock went back since the last write (0 or less).
   */
  headNow: number
  totalNow: number
  shift: number
  now: number
}

/** The most that two bytes can count. */
const MOST_ENTRIES = 2 ** 16 - 1

/** Adds units at the time they were used. In an existing slot they join its entry, which keeps the later time. */
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

/** Stores what `load` computed. */
export function writeLog(state: SlidingLogState): void {
  const { shift } = state
  if (shift < 0) state.times = state.times.map((time) => time + shift)
  state.head = state.headNow
  state.total = state.totalNow
  state.shift = 0
  // Copying an array costs its length, so expired entries are removed many at a time.
  if (state.head > 32 && state.head * 2 > state.times.length) {
    state.times = state.times.slice(state.head)
    state.units = state.units.slice(state.head)
    state.head = state.headNow = 0
  }
}

export function sameSlot(a: number, b: number, slotUs: number): boolean {
  return a - (a % slotUs) === b - (b % slotUs)
}

/** The entry that holds units taken at `at`: the oldest one not older than `at`, since merging only raises times. */
export function entryOf(state: SlidingLogState, at: number): number | undefined {
  const i = firstFrom(state, at)
  return i < state.times.length ? i : undefined
}

/** The index of the oldest entry that is not older than `at`. */
function firstFrom({ times, head }: SlidingLogState, at: number): number {
  let i = times.length
  while (i > head && (times[i - 1] as number) >= at) i -= 1
  return i
}
