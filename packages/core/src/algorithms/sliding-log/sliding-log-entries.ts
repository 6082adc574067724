import { unitsThatFit } from '../implementation.js'

export interface SlidingLogParams {
  readonly quota: number
  readonly windowUs: number
  /** Requests in the same slot of this length share an entry; 1 keeps every µs apart. */
  readonly slotUs: number
  /** Bytes of one count in the packed log; only the Redis script needs it. */
  readonly unitBytes: number
}

/**
 * The log: an entry is two numbers beside each other, when the last of its units was taken (µs) and how many there are;
 * oldest first, from `head`. One list, since to fetch a second one from memory takes longer than to read it.
 */
export interface SlidingLogState {
  log: number[]
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
  const { log, head } = state
  const i = firstFrom(state, at)
  const isAfter = i < log.length && sameSlot(log[i] as number, at, slotUs)
  const isBefore = !isAfter && i > head && sameSlot(log[i - 2] as number, at, slotUs)
  const fitting = unitsThatFit(units, state.total)
  if (fitting === 0 || (!isAfter && !isBefore && log.length - head >= 2 * MOST_ENTRIES)) return 0
  state.total = state.totalNow = state.total + fitting
  if (isAfter) log[i + 1] = (log[i + 1] as number) + fitting
  else if (isBefore) {
    log[i - 2] = at
    log[i - 1] = (log[i - 1] as number) + fitting
  } else log.splice(i, 0, at, fitting)
  return fitting
}

/** Takes units out of the oldest entries. Returns how many there were. */
export function removeOldest(state: SlidingLogState, units: number): number {
  const { log } = state
  let left = units
  let i = state.head
  while (i < log.length && left >= (log[i + 1] as number)) {
    left -= log[i + 1] as number
    i += 2
  }
  if (i < log.length) {
    log[i + 1] = (log[i + 1] as number) - left
    left = 0
  }
  log.splice(state.head, i - state.head)
  state.total = state.totalNow = state.total - (units - left)
  return units - left
}

/** When the units of an entry were taken, by the clock of now. */
export function timeOf({ log, shift }: SlidingLogState, i: number): number {
  return (log[i] as number) + shift
}

/** Stores what `load` computed. */
export function writeLog(state: SlidingLogState): void {
  const { log, shift } = state
  if (shift < 0) for (let i = 0; i < log.length; i += 2) log[i] = (log[i] as number) + shift
  state.head = state.headNow
  state.total = state.totalNow
  state.shift = 0
  // Copying an array costs its length, so expired entries are removed many at a time.
  if (state.head > 64 && state.head * 2 > log.length) {
    state.log = log.slice(state.head)
    state.head = state.headNow = 0
  }
}

export function sameSlot(a: number, b: number, slotUs: number): boolean {
  return a - (a % slotUs) === b - (b % slotUs)
}

/** Where the entry begins that holds units taken at `at`: the oldest one not older than `at`, since merging only raises times. */
export function entryOf(state: SlidingLogState, at: number): number | undefined {
  const i = firstFrom(state, at)
  return i < state.log.length ? i : undefined
}

/** Where the oldest entry begins that is not older than `at`. */
function firstFrom({ log, head }: SlidingLogState, at: number): number {
  let i = log.length
  while (i > head && (log[i - 2] as number) >= at) i -= 2
  return i
}

/** How many units have come free after so many µs, which grow from call to call. */
export function leftIn(
  state: SlidingLogState,
  { quota, windowUs }: SlidingLogParams,
): (us: number) => number {
  let left = quota - state.totalNow
  let i = state.headNow
  return (us) => {
    for (; i < state.log.length && timeOf(state, i) + windowUs <= state.now + us; i += 2) {
      left += state.log[i + 1] as number
    }
    return left
  }
}
