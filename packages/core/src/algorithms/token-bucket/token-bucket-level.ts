import { doubtOf, drained, goneBefore, type WentBack } from './token-bucket-refunds.js'
import type { Receipt } from '../implementation.js'

/** The largest level that a packed state holds: six bytes. */
export const MOST_LEVEL = 2 ** 48 - 1

/** A token bucket as numbers. */
export interface TokenBucketParams {
  readonly burst: number
  /** Levels are counted in parts, 2^scale to a unit, so that they are whole numbers that doubles hold exactly. */
  readonly scale: number
  /** Parts that drain per µs; not a whole number. */
  readonly rate: number
  readonly windowUs: number
}

/** The stored level, and what `load` derives from it. */
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

/** Powers of 2: computing one takes longer than the rest of a decision. */
const UNITS = Float64Array.from({ length: 64 }, (_, scale) => 2 ** scale)

export function unitOf(scale: number): number {
  return UNITS[scale] ?? 2 ** scale
}

/**
 * Converts the stored level to parts at the scale of this burst. A level above the brim (the burst) stays in the parts
 * it was stored in, since the number of new parts might not fit in six bytes.
 */
export function measure(state: TokenBucketState, params: TokenBucketParams): void {
  measureLevel(state, state.level, state.scale, params)
}

function measureLevel(
  state: TokenBucketState,
  level: number,
  levelScale: number,
  { burst, scale, rate, windowUs }: TokenBucketParams,
): void {
  state.filled = levelScale === scale ? level : Math.ceil(level * 2 ** (scale - levelScale))
  state.filledScale = scale
  state.unit = unitOf(scale)
  state.pace = rate
  if (state.filled <= burst * state.unit) return
  const ownRate = rate * 2 ** (levelScale - scale)
  state.filled = level
  state.filledScale = levelScale
  state.unit = unitOf(levelScale)
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

/**
 * Raises the level as of `ageUs` ago, or as of the last write if that was later, from where it drains on. The stored
 * level stays as it was written.
 */
export function raiseEarlier(
  state: TokenBucketState,
  units: number,
  ageUs: number,
  params: TokenBucketParams,
): void {
  // For an empty bucket any time will do.
  const elapsed = state.elapsed === 0 && state.filled === 0 ? ageUs : state.elapsed
  const since = Math.min(ageUs, elapsed)
  const before = Math.max(state.filled - drained(elapsed - since, state.pace), 0)
  const level = Math.min(before + units * state.unit, MOST_LEVEL)
  measureLevel(state, level, state.filledScale, params)
  state.elapsed = since
  state.levelNow = Math.max(state.filled - drained(since, state.pace), 0)
}

/** µs in which this many parts drain. */
export function timeToDrain(parts: number, pace: number): number {
  let time = Math.ceil((parts - 0.5) / pace)
  while (drained(time, pace) < parts) time += 1
  return time
}

/**
 * When the units of a waiting request are free: like `wait`, but also for more than the burst. If the level has drained or is
 * above the brim, the time counts from now, at the limit's rate: a level above the brim drains slower from its next write on.
 */
export function placeTime(
  { unit, filled, levelNow, pace, elapsed }: TokenBucketState,
  units: number,
  { burst, scale, rate }: TokenBucketParams,
): number {
  const parts = levelNow + units * unit - burst * unit
  if (parts <= 0) return 0
  if (levelNow > 0 && filled <= burst * unit)
    return timeToDrain(filled + units * unit - burst * unit, pace) - elapsed
  return timeToDrain(parts, (rate * unit) / unitOf(scale))
}

/** The longest that a bucket takes to drain, in µs, even when its level is above the brim. */
export function drainUs({ burst, scale, rate, windowUs }: TokenBucketParams): number {
  return Math.max(windowUs, (burst * 2 ** scale) / rate)
}

/**
 * How many parts must drain before the last of these units has drained. A bucket drains in the order it was filled. So
 * this is the level right after their request, which the receipt shows, minus what has left the bucket since.
 */
export function placeOf(
  { unit, pace, now, filledScale, levelNow, wentBackNow }: TokenBucketState,
  { units, at, remaining, reset }: Receipt,
  { burst, rate }: TokenBucketParams,
): number {
  const place = (burst - remaining - 1) * unit + drained(reset, rate)
  const standing = { at, place, parts: units * unit, scale: filledScale, pace }
  const gone = wentBackNow.length === 0 ? 0 : goneBefore(standing, wentBackNow)
  const left = place - drained(Math.max(now - at, 0), pace) - gone
  // What was taken later is behind them in whole units. So anything less is not behind them, but a rounding error.
  const doubt = doubtOf(pace)
  const behind = levelNow - left
  return left > 0 && behind > 0 && behind <= doubt && doubt < unit ? levelNow : left
}
