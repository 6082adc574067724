import { drained, goneBefore, type WentBack } from './token-bucket-refunds.js'
import type { Receipt } from './implementation.js'

export interface TokenBucketParams {
  readonly burst: number
  /** One unit is 2^scale parts of level, so that a level is a whole number that doubles hold exactly. */
  readonly scale: number
  /** Parts that drain in a µs; not whole. */
  readonly rate: number
  readonly windowUs: number
}

export interface TokenBucketState {
  /** How full the bucket was at the last write, in parts, and the scale of those. */
  level: number
  scale: number
  /** The same as it is counted today, and a unit in its parts. */
  filled: number
  filledScale: number
  unit: number
  /** Parts that drain in a µs, how long they have, and what has not drained. */
  pace: number
  elapsed: number
  levelNow: number
  now: number
  /** As of the last write, and those of it that can still matter. */
  wentBack: readonly WentBack[]
  wentBackNow: readonly WentBack[]
}

/** Counts what was written in the parts of this burst, or where it is above the brim in its own, which can hold it. */
export function measure(state: TokenBucketState, { burst, scale, rate, windowUs }: TokenBucketParams): void {
  state.filled = Math.ceil(state.level * 2 ** (scale - state.scale))
  state.filledScale = scale
  state.unit = 2 ** scale
  state.pace = rate
  if (state.filled <= burst * state.unit) return
  const ownRate = rate * 2 ** (state.scale - scale)
  state.filled = state.level
  state.filledScale = state.scale
  state.unit = 2 ** state.scale
  state.pace = Math.max(ownRate, state.filled / Math.max(windowUs, (burst * state.unit) / ownRate))
}

export function writeLevel(state: TokenBucketState, level: number, params: TokenBucketParams): void {
  state.level = level
  state.scale = state.filledScale
  measure(state, params)
  state.level = state.levelNow = state.filled
  state.scale = state.filledScale
  state.elapsed = 0
  state.wentBack = state.wentBackNow
}

/** How long a bucket takes to drain, also one that is above the brim. */
export function drainUs({ burst, scale, rate, windowUs }: TokenBucketParams): number {
  return Math.max(windowUs, (burst * 2 ** scale) / rate)
}

/**
 * Where the last of some units stands now, in parts from what drains next. A bucket drains in the order it was filled;
 * the level that they brought it to follows from the answer to their request.
 */
export function placeOf(
  { unit, pace, now, filledScale, wentBackNow }: TokenBucketState,
  { units, at, remaining, reset }: Receipt,
  { burst, rate }: TokenBucketParams,
): number {
  const place = (burst - remaining - 1) * unit + drained(reset, rate)
  const left = place - drained(Math.max(now - at, 0), pace)
  if (wentBackNow.length === 0) return left
  return left - goneBefore({ at, place, parts: units * unit, scale: filledScale, pace }, wentBackNow)
}
