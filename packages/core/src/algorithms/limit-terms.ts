import { fnv1a } from '../base/hash.js'
import type { Duration } from '../base/duration.js'
import type { BillingDay } from './billing-window/billing-day.js'

/** A limit as its algorithm gets it: what all limits have, and the algorithm's own options, still unchecked. */
export interface LimitTerms<Options = object> {
  /** Units, a whole number from 1. */
  readonly quota: number
  readonly window: Duration
  readonly options: Options
  /** Where the user wrote the limit, for errors: `plans.free[0]`. */
  readonly path: string
}

/** The option of the algorithms that can count beyond a quota. */
export interface OverageOptions {
  /**
   * For a fixed-window: requests that exceed the quota pass, and are counted. `decision.limits` says by how much in `over`, and the
   * event `overage` is emitted. Default: false.
   */
  readonly overage?: boolean | undefined
}

/** A limit compiled to numbers by its algorithm. */
export interface Terms {
  /** Identifies the windows, in 28 bits. Limits with the same algorithm and window id share their counts. */
  readonly windowId: number
  /** How long the state of an idle subject is kept, in ms: until none of it can count any more. */
  readonly ttlMs: number
  /** The time zone of the calendar that its windows follow; undefined where they follow none. */
  readonly timeZone?: string | undefined
  /**
   * The parameters by the names in `wire`. Those of a calendar window change with the time.
   *
   * @param nowMs    the time that the store counts by, in ms since 1970
   * @param behindMs how far the calendar is behind that time. Default: 0
   */
  paramsAt(nowMs: number, behindMs?: number): Params
  /** Set for months and years without an anchor: the terms for subjects with a billing day. */
  readonly bill?: ((day: BillingDay) => Terms) | undefined
  /** The state id of the same limit for subjects with a billing day. Set together with `bill`. */
  readonly otherId?: number | undefined
  /** Whether the parameters never change. */
  readonly isSteady?: boolean | undefined
}

/** The numbers of a limit that its algorithm reads, by name. */
export type Params = Readonly<Record<string, number>>

const UNITS_MS = [1, 1000, 60_000]
const LENGTHS = 2 ** 26

/** Whether a window id can hold this length: any ms up to 2^26 ms (18 h), above that whole seconds or minutes. */
export function isWindowLength(ms: number): boolean {
  return ms < LENGTHS || (ms % 1000 === 0 && ms / 1000 < LENGTHS) || ms % 60_000 === 0
}

/** The id of windows of one length: 2 bits of unit, 26 bits of length. The Redis script reads the length from it. */
function windowIdOf(windowMs: number): number {
  const unit = UNITS_MS.findIndex((ms) => windowMs % ms === 0 && windowMs / ms < LENGTHS)
  return unit * LENGTHS + windowMs / (UNITS_MS[unit] as number)
}

/** No window is so long that its length is counted in hours. So ids with this unit are free. */
const FREE_UNIT = 3

/** Another id with the same algorithm as a state id: one for each text, of 2^26. */
export function besideId(stateId: number, text: string): number {
  const algorithm = stateId - (stateId % 2 ** 28)
  return algorithm + FREE_UNIT * LENGTHS + (fnv1a(`${stateId} ${text}`) % LENGTHS)
}

/** The terms of a limit whose windows all have the same length, so that its parameters never change. */
export function steadyTerms(windowMs: number, ttlMs: number, params: object): Terms {
  return { windowId: windowIdOf(windowMs), ttlMs, paramsAt: () => params as Params, isSteady: true }
}
