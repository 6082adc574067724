import { readDuration } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { shareOfUnits } from '../../base/options.js'
import { EARLIEST, NEVER, unitsThatFit, type Implementation, type Receipt } from '../implementation.js'
import { steadyTerms, type LimitTerms } from '../limit-terms.js'

/** For a sliding-log. */
export interface SlidingLogOptions {
  /**
   * For a sliding-log: requests closer together than this may share an entry, and their units then come back up to this
   * much late. A time such as `'100ms'`, or a number of ms. Default: exact for a quota up to 128, else window / 128.
   */
  readonly precision?: string | number | undefined
}

export interface SlidingLogParams {
  readonly quota: number
  readonly windowUs: number
  /** Requests in the same slot of this length share an entry; 1 keeps every µs apart. */
  readonly slotUs: number
  /** Bytes of one count in the packed log; only the Redis script needs it. */
  readonly unitBytes: number
}

/**
 * The log, from `head` on, with the oldest entry first. An entry is two numbers: when the last of its units was taken
 * (µs), and how many there are. It is one list, since fetching a second one from memory takes longer than reading it.
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

/**
 * Remembers every unit for one window from when it was taken. The twin of sliding-log.lua. Exact: no window of this
 * length, wherever it starts, holds more than the quota. Entries of one slot are merged and come back with the newest
 * of them. So units come back at most `slotUs` late, and never early.
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

    create: () => ({ log: [], head: 0, total: 0, headNow: 0, totalNow: 0, shift: 0, now: 0 }),

    load(state, last, now, { windowUs }) {
      state.now = now
      // Entries keep their ages when the clock goes back.
      state.shift = Math.min(now - last, 0)
      state.headNow = state.head
      state.totalNow = state.total
      while (state.headNow < state.log.length && timeOf(state, state.headNow) + windowUs <= now) {
        state.totalNow -= state.log[state.headNow + 1] as number
        state.headNow += 2
      }
    },

    remaining: (state, { quota }) => Math.max(quota - state.totalNow, 0),

    wait(state, cost, { quota, windowUs }) {
      let excess = state.totalNow + cost - quota
      if (excess <= 0) return 0
      if (cost > quota) return NEVER
      let i = state.headNow
      while ((excess -= state.log[i + 1] as number) > 0) i += 2
      return timeOf(state, i) + windowUs - state.now
    },

    leftIn,

    // The same five calls. They cost less here, where the engine knows which algorithm they belong to.
    quick(state, { cost, takes, last, now }, params) {
      slidingLog.load(state, last, now, params)
      const wait = slidingLog.wait(state, cost, params)
      if (takes && wait === 0) slidingLog.take(state, cost, params)
      const remaining = slidingLog.remaining(state, params)
      return { wait, remaining, reset: Math.max(slidingLog.wait(state, remaining + 1, params), 0) }
    },

    take(state, cost, { slotUs }) {
      writeLog(state)
      if (cost === 0) return
      const { log, now } = state
      const newest = log.length - 2
      state.total = state.totalNow = state.total + cost
      if (newest >= state.head && sameSlot(log[newest] as number, now, slotUs)) {
        log[newest] = now
        log[newest + 1] = (log[newest + 1] as number) + cost
      } else log.push(now, cost)
    },

    unitsIn: ({ total }) => total,
    stateOf: (total, atUs) => ({ ...slidingLog.create(), log: [atUs, total], total }),
    countsForUs: ({ windowUs }) => windowUs,

    force(state, used, params) {
      writeLog(state)
      let granted = 0
      for (const { units, ageUs } of used) granted += insert(state, units, state.now - ageUs, params)
      return granted
    },

    give(state, receipt: Receipt, { slotUs }) {
      writeLog(state)
      if (receipt.at === EARLIEST) return removeOldest(state, receipt.units) > 0
      const i = entryOf(state, receipt.at)
      if (i === undefined || !sameSlot(state.log[i] as number, receipt.at, slotUs)) return false
      const held = state.log[i + 1] as number
      const given = Math.min(receipt.units, held)
      state.total = state.totalNow = state.total - given
      state.log[i + 1] = held - given
      if (given === held) state.log.splice(i, 2)
      return true
    },
  }

/** Without `precision`: a quota up to this is kept exactly, and a larger one in this many slots. */
const LOG_SLOTS = 128
const MOST_CHOSEN_ENTRIES = 16_384

/** The length of a slot in µs. */
function slotOf({ quota, window, options: { precision }, path }: LimitTerms<SlidingLogOptions>): number {
  if (precision === undefined) {
    return quota <= LOG_SLOTS ? 1 : Math.max(Math.floor((window.ms * 1000) / LOG_SLOTS), 1)
  }
  const ms = readDuration(precision)?.ms
  const entries = Math.min(quota, window.ms / (ms ?? 1))
  if (ms !== undefined && ms <= window.ms && entries <= MOST_CHOSEN_ENTRIES) return ms * 1000
  const finest = Math.ceil(window.ms / MOST_CHOSEN_ENTRIES)
  throw ConfigError.wrong(
    `${path}.precision`,
    precision,
    `a time from ${finest} ms up to the window, such as ${finest}`,
  )
}

/** Bytes needed for a count up to the quota. */
function countBytes(quota: number): number {
  return Math.ceil(Math.log2(quota + 1) / 8)
}

/** The most that two bytes can count. */
const MOST_ENTRIES = 2 ** 16 - 1

/** Adds units at the time they were used. In an existing slot they join its entry, which keeps the later time. */
function insert(
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
function removeOldest(state: SlidingLogState, units: number): number {
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
function timeOf({ log, shift }: SlidingLogState, i: number): number {
  return (log[i] as number) + shift
}

/** Stores what `load` computed. */
function writeLog(state: SlidingLogState): void {
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

function sameSlot(a: number, b: number, slotUs: number): boolean {
  return a - (a % slotUs) === b - (b % slotUs)
}

/** Where the entry with the units taken at `at` begins: the oldest one not older than `at`, since merging only raises times. */
function entryOf(state: SlidingLogState, at: number): number | undefined {
  const i = firstFrom(state, at)
  return i < state.log.length ? i : undefined
}

/** Where the oldest entry that is not older than `at` begins. */
function firstFrom({ log, head }: SlidingLogState, at: number): number {
  let i = log.length
  while (i > head && (log[i - 2] as number) >= at) i -= 2
  return i
}

/** How many units are left after a time in µs, which grows from call to call. */
function leftIn(state: SlidingLogState, { quota, windowUs }: SlidingLogParams): (us: number) => number {
  let left = quota - state.totalNow
  let i = state.headNow
  return (us) => {
    for (; i < state.log.length && timeOf(state, i) + windowUs <= state.now + us; i += 2) {
      left += state.log[i + 1] as number
    }
    return left
  }
}
