import { shareOfUnits } from '../../base/options.js'
import { EARLIEST, NEVER, unitsThatFit, type Implementation, type Receipt } from '../implementation.js'
import { steadyTerms } from '../limit-terms.js'

export interface SlidingWindowParams {
  readonly quota: number
  readonly windowUs: number
}

/** The stored counters of two windows, and what `load` derives from them. */
export interface SlidingWindowState {
  current: number
  previous: number
  currentNow: number
  previousNow: number
  /** When the current window began, and how much of it is left, in µs. */
  startNow: number
  leftNow: number
  now: number
}

/**
 * Two counters. The previous window's units are weighted by how much of it still overlaps a window that ends now. The
 * twin of sliding-window.lua. Windows begin at multiples of their length.
 * Worst case: just under 2 x quota, when the previous window's units all came at its end.
 *
 * @see https://blog.cloudflare.com/counting-things-a-lot-of-different-things/
 */
export const slidingWindow: Implementation<
  SlidingWindowState,
  SlidingWindowParams,
  object,
  'sliding-window'
> = {
  name: 'sliding-window',
  options: [],

  // The state is kept for two windows, since units still count in the window after their own.
  compile: ({ quota, window: { ms } }) => steadyTerms(ms, 2 * ms, { quota, windowUs: ms * 1000 }),
  capacity: ({ quota }) => quota,
  scale: (params, share) => ({ ...params, quota: shareOfUnits(params.quota, share) }),

  code: 3,
  wire: ['quota', 'windowUs'],

  create: () => ({ current: 0, previous: 0, currentNow: 0, previousNow: 0, startNow: 0, leftNow: 0, now: 0 }),
  packing: {
    size: 2,
    unpack(state, numbers, at) {
      state.current = numbers[at] as number
      state.previous = numbers[at + 1] as number
    },
    pack({ current, previous }, numbers, at) {
      numbers[at] = current
      numbers[at + 1] = previous
      return true
    },
    quick(numbers, at, { cost, takes, last, now }, params) {
      const { quota, windowUs } = params
      // Exact up to 2^53, and quicker than %.
      const start = Math.floor(now / windowUs) * windowUs
      const leftNow = start + windowUs - now
      let currentNow = numbers[at] as number
      let previousNow = numbers[at + 1] as number
      if (last < start) {
        previousNow = last >= start - windowUs ? currentNow : 0
        currentNow = 0
      }
      const left = quota - currentNow - weighted(previousNow, leftNow, windowUs)
      let remaining = Math.max(left, 0)
      const wait = cost <= left ? 0 : waitFor(cost, { currentNow, previousNow, leftNow }, params)
      if (wait === 0 && takes) {
        numbers[at] = currentNow += cost
        numbers[at + 1] = previousNow
        remaining -= cost
      }
      const reset = waitFor(remaining + 1, { currentNow, previousNow, leftNow }, params)
      return { wait, remaining, reset: Math.max(reset, 0) }
    },
  },

  load(state, last, now, { windowUs }) {
    const start = now - (now % windowUs)
    const passed = (start - (last - (last % windowUs))) / windowUs
    const { current, previous } = state
    state.now = now
    state.startNow = start
    state.leftNow = start + windowUs - now
    state.currentNow = passed === 0 ? current : 0
    state.previousNow = passed === 0 ? previous : passed === 1 ? current : 0
    // The clock went back over a window's edge, and will reach it again. So what was used on either side counts as used now.
    if (passed < 0) state.currentNow = current + unitsThatFit(previous, current)
  },

  remaining: (state, { quota, windowUs }) =>
    Math.max(quota - state.currentNow - weighted(state.previousNow, state.leftNow, windowUs), 0),

  wait: (state, cost, params) => waitFor(cost, state, params),

  take(state, cost) {
    state.currentNow += cost
    store(state)
  },

  unitsIn: ({ current, previous }) => current + previous,
  stateOf: (current) => ({ ...slidingWindow.create(), current }),
  // With less and less weight in the window that follows.
  countsForUs: ({ windowUs }) => 2 * windowUs,

  force(state, used, { windowUs }) {
    let granted = 0
    for (const { units, ageUs } of used) granted += addUsage(state, units, state.now - ageUs, windowUs)
    store(state)
    return granted
  },

  give(state, receipt: Receipt, { windowUs }) {
    const before = state.currentNow + state.previousNow
    if (receipt.at === EARLIEST) giveEarliest(state, receipt.units)
    else if (receipt.at >= state.startNow) state.currentNow = Math.max(state.currentNow - receipt.units, 0)
    else if (receipt.at >= state.startNow - windowUs) {
      state.previousNow = Math.max(state.previousNow - receipt.units, 0)
    }
    store(state)
    return state.currentNow + state.previousNow < before
  },
}

/** Adds units to the window in which they were used. Returns how many had room. */
function addUsage(state: SlidingWindowState, units: number, at: number, windowUs: number): number {
  if (at < state.startNow - windowUs) return units
  const cell = at >= state.startNow ? 'currentNow' : 'previousNow'
  const fitting = unitsThatFit(units, state[cell])
  state[cell] += fitting
  return fitting
}

/** Takes them from the previous window first: what is left in the current one will weigh in the next. */
function giveEarliest(state: SlidingWindowState, units: number): void {
  const ofPrevious = Math.min(units, state.previousNow)
  state.previousNow -= ofPrevious
  state.currentNow = Math.max(state.currentNow - (units - ofPrevious), 0)
}

function store(state: SlidingWindowState): void {
  state.current = state.currentNow
  state.previous = state.previousNow
}

/** The counters as of now, and how much of the current window is left, in µs. */
type Counters = Pick<SlidingWindowState, 'currentNow' | 'previousNow' | 'leftNow'>

function waitFor(
  cost: number,
  { currentNow, previousNow, leftNow }: Counters,
  { quota, windowUs }: SlidingWindowParams,
): number {
  if (cost > quota) return NEVER
  const room = quota - cost - currentNow
  if (room < 0) return leftNow + windowUs - leftWhenWithin(quota - cost, currentNow, windowUs)
  if (weighted(previousNow, leftNow, windowUs) <= room) return 0
  return leftNow - leftWhenWithin(room, previousNow, windowUs)
}

/** How many units those of the previous window still count as, when `left` µs of the current window remain. */
function weighted(units: number, left: number, windowUs: number): number {
  return Math.ceil((units * left) / windowUs)
}

/** How much of the current window is left, in µs, when the previous window's `units` count as no more than `room`. */
function leftWhenWithin(room: number, units: number, windowUs: number): number {
  let left = Math.floor((room * windowUs) / units)
  while (weighted(units, left, windowUs) > room) left -= 1
  return left
}
