import { drained, goneBefore, type WentBack } from './token-bucket-refunds.js'
import type { Receipt } from './implementation.js'

export interface TokenBucketParams {
  readonly burst: number
  /** Levels are counted in parts, 2^scale to a unit, so that they are whole numbers that doubles hold exactly. */
  readonly scale: number
  /** Parts that drain per µs; not a whole number. */
  readonly rate: number
  readonly windowUs: number
}

export interface TokenBucketState {
  /** The level at the last write, in parts of 2^-`scale` units. */
  level: number
  scale: number
  /**
   * The same level in the parts that this object counts in, the scale of these parts, and how many of them are a unit.
   */
  filled: number
  filledScale: number
  unit: number
  /** Parts that drain per µs, µs since the last write, and the level now. */
  pace: number
  elapsed: number
  levelNow: number
  now: number
  /** Notes on refunds: all that the last write stored, and those of them that still matter. */
  wentBack: readonly WentBack[]
  wentBackNow: readonly WentBack[]
}

/** Powers of 2, since to compute one takes longer than all else that a bucket does. */
const UNITS = Float64Array.from({ length: 64 }, (_, scale) => 2 ** scale)

export function unitOf(scale: number): number {
  return UNITS[scale] ?? 2 ** scale
}

/**
 * Converts the stored level to parts at the scale of this burst. A level above the brim (the burst) stays in the parts
 * it was stored in, since the number of new parts might not fit in six bytes.
 */
export function measure(state: TokenBucketState, { burst, scale, rate, windowUs }: TokenBucketParams): void {
  const isSameScale = state.scale === scale
  state.filled = isSameScale ? state.level : Math.ceil(state.level * 2 ** (scale - state.scale))
  state.filledScale = scale
  state.unit = unitOf(scale)
  state.pace = rate
  if (state.filled <= burst * state.unit) return
  const ownRate = rate * 2 ** (state.scale - scale)
  state.filled = state.level
  state.filledScale = state.scale
  state.unit = unitOf(state.scale)
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

/** µs in which this many parts drain. */
export function timeToDrain(parts: number, pace: number): number {
  let time = Math.ceil((parts - 0.5) / pace)
  while (drained(time, pace) < parts) time += 1
  return time
}

/** The longest that a bucket takes to drain, in µs, even when its level is above the brim. */
export function drainUs({ burst, scale, rate, windowUs }: TokenBucketParams): number {
  return Math.max(windowUs, (burst * 2 ** scale) / rate)
}

/**
 * How many parts must drain before the last of these units has drained. A bucket drains in the order it was filled. So
 * this is the level right after their request, which the receipt tells, minus what has left the bucket since.
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
