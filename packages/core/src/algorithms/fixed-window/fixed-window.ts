import { shareOfUnits } from '../../base/options.js'
import {
  answerOfWindow,
  EARLIEST,
  MOST_UNITS,
  NEVER,
  unitsThatFit,
  type Implementation,
  type Receipt,
} from '../implementation.js'
import { steadyTerms, type OverageOptions } from '../limit-terms.js'

export interface FixedWindowParams {
  readonly quota: number
  readonly windowUs: number
}

/** The stored window, and what `load` derives from it. */
export interface FixedWindowState {
  /** The age of the window at the last write, in µs, and the units used in it. */
  age: number
  count: number
  now: number
  ageNow: number
  countNow: number
  /** The same of the latest window, also after it has closed. */
  latestAge: number
  latestCount: number
}

/**
 * A counter whose window opens with the first request and closes `windowUs` later. The twin of fixed-window.lua. Worst
 * case: just under 2 x quota in one window length, half of it on each side of a boundary.
 */
export const fixedWindow: Implementation<
  FixedWindowState,
  FixedWindowParams,
  OverageOptions,
  'fixed-window'
> = {
  name: 'fixed-window',
  options: ['overage'],

  isMeant: ({ overage }) => overage === true,
  compile: ({ quota, window: { ms } }) => steadyTerms(ms, ms, { quota, windowUs: ms * 1000 }),
  capacity: ({ quota }) => quota,
  scale: (params, share) => ({ ...params, quota: shareOfUnits(params.quota, share) }),

  code: 1,
  wire: ['quota', 'windowUs'],

  create: () => ({ age: 0, count: 0, now: 0, ageNow: 0, countNow: 0, latestAge: 0, latestCount: 0 }),
  packing: {
    size: 2,
    unpack(state, numbers, at) {
      state.age = numbers[at] as number
      state.count = numbers[at + 1] as number
    },
    pack({ age, count }, numbers, at) {
      numbers[at] = age
      numbers[at + 1] = count
      return true
    },
    quick(numbers, at, { cost, takes, last, now }, { quota, windowUs }) {
      let age = (numbers[at] as number) + now - last
      let count = numbers[at + 1] as number
      if (count === 0 || age >= windowUs) age = count = 0
      const left = quota - count
      if (cost > left || !takes) return answerOfWindow(cost, left, quota, windowUs - age)
      numbers[at] = age
      numbers[at + 1] = count + cost
      return { wait: 0, remaining: left - cost, reset: windowUs - age }
    },
  },

  load(state, last, now, { windowUs }) {
    state.now = now
    state.ageNow = state.latestAge = state.age + Math.max(now - last, 0)
    state.countNow = state.latestCount = state.count
    if (state.countNow === 0 || state.ageNow >= windowUs) {
      state.ageNow = 0
      state.countNow = 0
    }
  },

  remaining: (state, { quota }) => Math.max(quota - state.countNow, 0),

  over: (state, { quota }) => Math.max(state.countNow - quota, 0),

  running({ now, ageNow, countNow }, { windowUs }) {
    const startUs = now - ageNow
    return countNow === 0 ? undefined : { units: countNow, startUs, endUs: startUs + windowUs }
  },

  closed({ now, countNow, latestAge, latestCount }, _, { windowUs }) {
    const startUs = now - latestAge
    if (countNow > 0 || latestCount === 0) return undefined
    return { units: latestCount, startUs, endUs: startUs + windowUs }
  },

  wait(state, cost, { quota, windowUs }) {
    if (cost > quota) return NEVER
    return state.countNow + cost <= quota ? 0 : windowUs - state.ageNow
  },

  // With overage, nothing but this bounds the count.
  take(state, cost) {
    state.countNow = Math.min(state.countNow + cost, MOST_UNITS)
    state.count = state.countNow
    state.age = state.ageNow
  },

  unitsIn: ({ count }) => count,
  stateOf: (count) => ({ ...fixedWindow.create(), count }),
  countsForUs: ({ windowUs }) => windowUs,

  force(state, used, { windowUs }) {
    let granted = 0
    for (const { units, ageUs } of used) granted += addUsage(state, units, ageUs, windowUs)
    state.count = state.countNow
    state.age = state.ageNow
    return granted
  },

  // If the latest window had closed by then, the units open another.
  enter(state, units, ageUs, { windowUs }) {
    if (state.latestCount === 0 || state.latestAge - ageUs >= windowUs) {
      state.latestAge = ageUs
      state.latestCount = 0
    }
    state.latestCount += unitsThatFit(units, state.latestCount)
    const isOpen = state.latestAge < windowUs
    state.ageNow = isOpen ? state.latestAge : 0
    state.countNow = isOpen ? state.latestCount : 0
  },

  give(state, receipt: Receipt) {
    const before = state.countNow
    const opened = state.now - state.ageNow
    if (receipt.at === EARLIEST || receipt.at >= opened) state.countNow = Math.max(before - receipt.units, 0)
    state.count = state.countNow
    state.age = state.ageNow
    return state.countNow < before
  },
}

/** Adds units used at some time, also from before the window opened: they still count. Returns how many had room. */
function addUsage(state: FixedWindowState, units: number, ageUs: number, windowUs: number): number {
  if (ageUs >= windowUs) return units
  const fitting = unitsThatFit(units, state.countNow)
  if (state.countNow === 0 && fitting > 0) state.ageNow = ageUs
  state.countNow += fitting
  return fitting
}
