import type { Duration } from '../base/duration.js'

/** A limit as its algorithm gets it: what all limits have, and the options of its own, which it checks. */
export interface LimitTerms<Options = object> {
  /** Units, a whole number from 1. */
  readonly quota: number
  readonly window: Duration
  readonly options: Options
  /** Where the user wrote the limit, for errors: `plans.free[0]`. */
  readonly path: string
}

/** A limit as the numbers of its algorithm. */
export interface Terms {
  /** Which windows, in 28 bits: limits of the same algorithm and windows go on with each other's counts. */
  readonly windowId: number
  /** How long what was used of it is remembered when nobody comes, in ms: until none of it can count any more. */
  readonly ttlMs: number
  /** The time zone of the calendar that its windows follow; undefined where they follow none. */
  readonly timeZone?: string | undefined
  /** The parameters by the names in `wire`. Those of a calendar change with the time. */
  paramsAt(nowMs: number): Params
}

export type Params = Readonly<Record<string, number>>

const UNITS_MS = [1, 1000, 60_000, 3_600_000]
const LENGTHS = 2 ** 26

/** Up to here a window is any ms; a longer one is whole seconds or minutes. */
export function isWindowLength(ms: number): boolean {
  return ms < LENGTHS || (ms % 1000 === 0 && ms / 1000 < LENGTHS) || ms % 60_000 === 0
}

/** The id of windows of one length: two bits of unit, and how many. The script for Redis reads the length back. */
function windowIdOf(windowMs: number): number {
  const unit = UNITS_MS.findIndex((ms) => windowMs % ms === 0 && windowMs / ms < LENGTHS)
  return unit * LENGTHS + windowMs / (UNITS_MS[unit] as number)
}

/** The terms of a limit whose windows all have one length, and its parameters, which never change. */
export function steadyTerms(windowMs: number, ttlMs: number, params: object): Terms {
  return { windowId: windowIdOf(windowMs), ttlMs, paramsAt: () => params as Params }
}
