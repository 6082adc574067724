import { readDuration } from '../base/duration.js'
import { ConfigError } from '../base/errors.js'
import { shareOfUnits } from '../base/units.js'
import { NEVER, unitsThatFit, type Implementation, type Receipt } from './implementation.js'
import { steadyTerms, type LimitTerms } from './limit-terms.js'

export interface SlidingLogParams {
  readonly quota: number
  readonly windowUs: number
  /** Requests that come in the same slot of this length share an entry: 1 keeps every µs apart. */
  readonly slotUs: number
  /** Bytes of a count in the packed log; only the script needs it. */
  readonly unitBytes: number
}

export interface SlidingLogOptions {
  /**
   * sliding-log: requests closer together than this may share an entry, and come back up to this late.
   * Default: exact while the quota is at most 128, else window / 128. `'100ms'`, or a number of ms.
   */
  readonly precision?: string | number
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

/**
 * Every unit is remembered for one window from when it was taken. The twin of sliding-log.lua. Exact: no window
 * of this length, wherever it starts, holds more than the quota. Entries of one slot are merged and come back
 * with the last of them, so units are free at most `slotUs` late and never early.
 */
export const slidingLog: Implementation<SlidingLogState, SlidingLogParams, SlidingLogOptions, 'sliding-log'> =
  {
    name: 'sliding-log',
    options: ['precision'],

    compile(terms) {
      const { quota, window } = terms
      const params = {
        quota,
        windowUs: window.ms * 1000,
        slotUs: slotOf(terms),
        unitBytes: countBytes(quota),
      }
      return steadyTerms(window.ms, window.ms, params)
    },
    capacity: ({ quota }) => quota,
    scale(params, share) {
      const quota = shareOfUnits(params.quota, share)
      return { ...params, quota, unitBytes: countBytes(quota) }
    },

    code: 5,
    wire: ['quota', 'windowUs', 'slotUs', 'unitBytes'],

    create: () => ({ times: [], units: [], head: 0, total: 0, headNow: 0, totalNow: 0, shift: 0, now: 0 }),

    load(state, last, now, { windowUs }) {
      state.now = now
      // Entries keep their ages when the clock goes back.
      state.shift = Math.min(now - last, 0)
      state.headNow = state.head
      state.totalNow = state.total
      while (state.headNow < state.times.length && timeOf(state, state.headNow) + windowUs <= now) {
        state.totalNow -= state.units[state.headNow] as number
        state.headNow += 1
      }
    },

    remaining: (state, { quota }) => Math.max(quota - state.totalNow, 0),

    wait(state, cost, { quota, windowUs }) {
      let excess = state.totalNow + cost - quota
      if (excess <= 0) return 0
      if (cost > quota) return NEVER
      let i = state.headNow
      while ((excess -= state.units[i] as number) > 0) i += 1
      return timeOf(state, i) + windowUs - state.now
    },

    take(state, cost, { slotUs }) {
      write(state)
      if (cost === 0) return
      const { times, units, now } = state
      const newest = times.length - 1
      state.total = state.totalNow = state.total + cost
      if (newest >= state.head && sameSlot(times[newest] as number, now, slotUs)) {
        times[newest] = now
        units[newest] = (units[newest] as number) + cost
      } else {
        times.push(now)
        units.push(cost)
      }
    },

    force(state, used, params) {
      write(state)
      let granted = 0
      for (const { units, ageUs } of used) granted += insert(state, units, state.now - ageUs, params)
      return granted
    },

    give(state, receipt: Receipt, { slotUs }) {
      write(state)
      const i = entryOf(state, receipt.at)
      if (i === undefined || !sameSlot(state.times[i] as number, receipt.at, slotUs)) return false
      const given = Math.min(receipt.units, state.units[i] as number)
      state.total = state.totalNow = state.total - given
      state.units[i] = (state.units[i] as number) - given
      if (state.units[i] === 0) {
        state.times.splice(i, 1)
        state.units.splice(i, 1)
      }
      return true
    },
  }

/** What two bytes count. */
const MOST_ENTRIES = 2 ** 16 - 1

/** Adds units at their own time; an entry of the same slot takes them in, and has the later time. */
function insert(
  state: SlidingLogState,
  units: number,
  at: number,
  { windowUs, slotUs }: SlidingLogParams,
): number {
  if (at + windowUs <= state.now) return units
  const { times, head } = state
  let i = times.length
  while (i > head && (times[i - 1] as number) >= at) i -= 1
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

/** Up to this many entries a log is kept exactly, or in as many slots. */
const LOG_SLOTS = 128
const MOST_CHOSEN_ENTRIES = 16_384

/** In µs. */
function slotOf({ quota, window, options: { precision }, path }: LimitTerms<SlidingLogOptions>): number {
  if (precision === undefined) {
    return quota <= LOG_SLOTS ? 1 : Math.max(Math.floor((window.ms * 1000) / LOG_SLOTS), 1)
  }
  const ms = readDuration(precision)?.ms
  const entries = Math.min(quota, window.ms / (ms ?? 1))
  if (ms !== undefined && ms <= window.ms && entries <= MOST_CHOSEN_ENTRIES) return ms * 1000
  const finest = Math.ceil(window.ms / MOST_CHOSEN_ENTRIES)
  throw new ConfigError(`${path}.precision`, precision, `a time from ${finest} ms up to the window`)
}

/** Bytes that hold a count up to the quota. */
function countBytes(quota: number): number {
  return Math.ceil(Math.log2(quota + 1) / 8)
}

function timeOf({ times, shift }: SlidingLogState, i: number): number {
  return (times[i] as number) + shift
}

/** Makes what `load` found the state. */
function write(state: SlidingLogState): void {
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

function sameSlot(a: number, b: number, slotUs: number): boolean {
  return a - (a % slotUs) === b - (b % slotUs)
}

/** The entry that units taken at `at` are in: the oldest that is not older, since merging only moves entries on. */
function entryOf({ times, head }: SlidingLogState, at: number): number | undefined {
  let i = times.length
  while (i > head && (times[i - 1] as number) >= at) i -= 1
  return i < times.length ? i : undefined
}
