import { UNIT_MS } from '../../base/duration.js'
import { shareOfUnits } from '../../base/options.js'
import { answerOfWindow, NEVER, OUTSIDE_CALENDAR, type Implementation } from '../implementation.js'
import {
  forceInto,
  giveTo,
  isRecent,
  takeFrom,
  windowAt,
  windowBefore,
} from '../calendar-window/calendar-counter.js'
import type { LimitTerms, OverageOptions, Terms } from '../limit-terms.js'

/**
 * A limit whose months or years begin on the billing day of a subject, as numbers: its quota, and four consecutive starts around now. Times
 * are in µs since 1970.
 */
export interface BillingWindowParams {
  /** The units of this window: fewer than `whole` if it is short. */
  readonly quota: number
  /** The units of a whole window, if that is not this one. */
  readonly whole?: number
  readonly start0: number
  readonly start1: number
  readonly start2: number
  readonly start3: number
  /** The state id of the same limit for subjects without a billing day, the beginning and end of its window, and of the one before. */
  readonly otherId: number
  readonly plainStart: number
  readonly plainEnd: number
  readonly plainBefore: number
}

/** The stored window, and what `load` derives from it. */
export interface BillingWindowState {
  count: number
  /** When the stored window ends, 0 if there is none, and how long it is. If it is short: how long it would be; else 0. In µs. */
  end: number
  length: number
  full: number
  now: number
  countNow: number
  startNow: number
  /** 0 when now is outside the four starts. */
  endNow: number
  fullNow: number
}

const DAY_US = UNIT_MS.d * 1000

/**
 * A counter for months or years that begin on the subject's billing day. The twin of billing-window.lua. The end of the window is stored. So
 * a billing day that was moved takes effect at that end. What is left until the next one is a short window, with its share of the quota,
 * rounded up. Worst case: as for calendar windows.
 */
export const billingWindow: Implementation<
  BillingWindowState,
  BillingWindowParams,
  OverageOptions,
  'fixed-window'
> = {
  name: 'fixed-window',
  options: ['overage'],

  isMeant: () => false,
  calledForBy: 'the anchor of a subject',
  compile: (terms) => refuseTerms(terms),
  capacity: ({ quota }) => quota,
  scale: (params, share) => ({ ...params, quota: shareOfUnits(params.quota, share) }),

  code: 7,
  wire: ['quota', 'start0', 'start1', 'start2', 'start3', 'otherId', 'plainStart', 'plainEnd', 'plainBefore'],

  create: () => ({
    count: 0,
    end: 0,
    length: 0,
    full: 0,
    now: 0,
    countNow: 0,
    startNow: 0,
    endNow: 0,
    fullNow: 0,
  }),
  packing: {
    size: 3,
    unpack(state, numbers, at) {
      state.count = numbers[at] as number
      state.end = numbers[at + 1] as number
      state.length = numbers[at + 2] as number
      state.full = 0
    },
    pack({ count, end, length, full }, numbers, at) {
      if (full !== 0) return false
      numbers[at] = count
      numbers[at + 1] = end
      numbers[at + 2] = length
      return true
    },
    quick(numbers, at, { cost, takes, now }, params) {
      const end = numbers[at + 1] as number
      // It never ends so late, unless the clock has gone back.
      if (now >= end || end - now > 2 * (numbers[at + 2] as number)) return undefined
      const count = numbers[at] as number
      const left = params.quota - count
      // A cost of several units may not fit the next window, if that is short.
      if (cost > left && cost > 1) return undefined
      if (cost > left || !takes) return answerOfWindow(cost, left, params.quota, end - now)
      numbers[at] = count + cost
      return { wait: 0, remaining: left - cost, reset: end - now }
    },
    isQuickSteady: true,
  },

  load(state, last, now, params) {
    const [start, end] = windowAt(now, params)
    // Without an end, it is only known when the units were used.
    const isOpen = state.end > 0 ? now < state.end : last >= start || now < last
    // The end of a window can be this far away only after the clock has gone back.
    const isKept = isOpen && state.end > 0 && state.end - now <= 2 * longestOf(params)
    state.now = now
    state.countNow = isOpen ? state.count : 0
    state.startNow = isKept ? state.end - state.length : isOpen ? start : Math.max(start, state.end)
    state.endNow = end === 0 ? 0 : isKept ? state.end : end
    const isShort = !isOpen && state.end > start
    state.fullNow = isKept ? state.full : isShort ? end - start : 0
  },

  paramsFor({ startNow, endNow, fullNow }, params) {
    if (fullNow === 0) return params
    const quota = shortQuota(params.quota, endNow - startNow, fullNow)
    return { ...params, quota, whole: params.quota }
  },

  remaining: (state, { quota }) => Math.max(quota - state.countNow, 0),

  over: (state, { quota }) => Math.max(state.countNow - quota, 0),

  running: ({ countNow, startNow, endNow }) => ({ units: countNow, startUs: startNow, endUs: endNow }),

  closed({ count, end, length, now }) {
    if (count === 0 || end === 0 || end > now) return undefined
    return { units: count, startUs: end - length, endUs: end }
  },

  isRecent,
  before: windowBefore,

  wait(state, cost, { quota, whole = quota }) {
    if (state.endNow === 0) return OUTSIDE_CALENDAR
    if (state.countNow + cost <= quota) return 0
    return cost > Math.max(quota, whole) ? NEVER : state.endNow - state.now
  },

  short({ endNow, now }, params) {
    const [start, end] = windowAt(endNow, params)
    if (end === 0 || start === endNow) return undefined
    const { quota, whole = quota } = params
    return {
      quota: shortQuota(whole, end - endNow, end - start),
      startsInUs: endNow - now,
      endsInUs: end - now,
    }
  },

  take(state, cost) {
    takeFrom(state, cost)
    store(state)
  },

  // It also says when the next window begins.
  unitsIn: ({ count, end }) => Math.max(count, end > 0 ? 1 : 0),
  stateOf: (count) => ({ ...billingWindow.create(), count }),
  fromPlain({ count }, last, { plainBefore, plainStart, plainEnd }, isBilled) {
    const isOver = last < plainStart
    if (count === 0 || (isOver && !(isBilled && last >= plainBefore))) return undefined
    const [start, end] = isOver ? [plainBefore, plainStart] : [plainStart, plainEnd]
    return { ...billingWindow.create(), count, end, length: end - start }
  },
  // Until then, it says when the next window begins.
  stillSays: ({ end }, now, params) => end + longestOf(params) > now,
  // To the end of this window or of the next, whose lengths differ by less than half.
  countsForUs: ({ start1, start2 }) => 2 * (start2 - start1),
  windowUs: ({ start1, start2 }) => start2 - start1,

  force(state, used) {
    const granted = forceInto(state, used)
    store(state)
    return granted
  },

  give(state, receipt) {
    const isGiven = giveTo(state, receipt)
    store(state)
    return isGiven
  },
}

/** The share of a window that is `length` long, and would be `full` long. */
function shortQuota(whole: number, length: number, full: number): number {
  return Math.ceil((whole * length) / full)
}

/** A window in which nothing is counted yet is not stored: the billing day can still be moved. */
function store(state: BillingWindowState): void {
  const { countNow, startNow, endNow, fullNow, end, now } = state
  if (countNow === 0 && end <= now) return
  state.count = countNow
  state.end = endNow
  state.length = endNow - startNow
  state.full = fullNow
}

function refuseTerms({ path }: LimitTerms): Terms {
  throw new TypeError(`${path}: a billing window is made of a calendar window`)
}

/** No month and no year is as long as this, in µs, whatever its billing day. */
function longestOf({ start1, start2 }: BillingWindowParams): number {
  return start2 - start1 < 200 * DAY_US ? 32 * DAY_US : 367 * DAY_US
}
