import { readDuration } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { shareOfUnits } from '../../base/options.js'
import { EARLIEST, NEVER, type Implementation, type Receipt } from '../implementation.js'
import { steadyTerms, type LimitTerms } from '../limit-terms.js'
import {
  entryOf,
  insert,
  removeOldest,
  sameSlot,
  leftIn,
  timeOf,
  writeLog,
  type SlidingLogParams,
  type SlidingLogState,
} from './sliding-log-entries.js'

export interface SlidingLogOptions {
  /**
   * sliding-log: requests closer together than this may share an entry, and then come back up to this much late. A
   * time such as `'100ms'`, or a number of ms. Default: exact for a quota up to 128, else window / 128.
   */
  readonly precision?: string | number | undefined
}

/**
 * Every unit is remembered for one window from when it was taken. The twin of sliding-log.lua. Exact: no window
 * of this length, wherever it starts, holds more than the quota. Entries of one slot are merged and come back
 * with the newest of them, so units come back at most `slotUs` late and never early.
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

    // The five calls. They cost less from here than from where they could be those of any algorithm.
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
