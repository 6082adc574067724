import { NEVER, type Implementation, type Receipt } from './implementation.js'
import { drained, goneBefore, NOTHING_WENT_BACK, noted, type WentBack } from './token-bucket-refunds.js'

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

/** The most that a packed level holds: six bytes. */
const MOST_LEVEL = 2 ** 48 - 1

/**
 * GCRA, the leaky bucket as a meter: a level that drains evenly, and requests that fit while it is below the
 * brim. The twin of token-bucket.lua. Worst case in one window length: quota + burst.
 *
 * Levels are whole parts of a unit and what drained is rounded to a part. A part drains in less than a µs, so
 * answers are exact to the µs and rounding does not add up.
 *
 * A level can be above the brim, when it comes from a plan with a larger burst. It stays, or moving to a smaller plan
 * and back would empty the bucket; but it drains as much faster as it takes to be gone after a window.
 *
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 */
export const tokenBucket: Implementation<TokenBucketState, TokenBucketParams> = {
  code: 4,
  wire: ['burst', 'scale', 'rate', 'windowUs'],

  create: () => ({
    level: 0,
    scale: 0,
    filled: 0,
    filledScale: 0,
    unit: 1,
    pace: 0,
    elapsed: 0,
    levelNow: 0,
    now: 0,
    wentBack: NOTHING_WENT_BACK,
    wentBackNow: NOTHING_WENT_BACK,
  }),

  load(state, last, now, params) {
    measure(state, params)
    state.elapsed = Math.max(now - last, 0)
    state.levelNow = Math.max(state.filled - drained(state.elapsed, state.pace), 0)
    state.now = now
    const newest = state.wentBack.at(-1)
    const isGone = newest !== undefined && now - newest.when >= drainUs(params)
    state.wentBackNow = isGone ? NOTHING_WENT_BACK : state.wentBack
  },

  remaining: ({ unit, levelNow }, { burst }) => Math.max(Math.floor((burst * unit - levelNow) / unit), 0),

  wait({ unit, filled, levelNow, pace, elapsed }, cost, { burst }) {
    if (levelNow + cost * unit <= burst * unit) return 0
    if (cost > burst) return NEVER
    const excess = filled + (cost - burst) * unit
    let until = Math.ceil((excess - 0.5) / pace)
    while (drained(until, pace) < excess) until += 1
    return until - elapsed
  },

  take(state, cost, params) {
    write(state, state.levelNow + cost * state.unit, params)
  },

  // In parts of another size, which were of another burst: the level would be cut off at this one.
  isOther: (state, { scale }) => state.level > 0 && state.scale !== scale,

  force(state, used, params) {
    const { unit, levelNow } = state
    const rate = (params.rate * unit) / 2 ** params.scale
    let [level, units, age] = [0, 0, used[0]?.ageUs ?? 0]
    for (const usage of used) {
      level = Math.max(level - drained(age - usage.ageUs, rate), 0) + usage.units * unit
      units += usage.units
      age = usage.ageUs
    }
    level = Math.max(level - drained(age, rate), 0)
    const room = MOST_LEVEL - levelNow
    const denied = Math.min(Math.ceil(Math.max(level - room, 0) / unit), units)
    // Doubles do not hold the largest levels exactly.
    write(state, levelNow + Math.min(Math.max(level - denied * unit, 0), room), params)
    return units - denied
  },

  give(state, receipt, params) {
    const level = state.levelNow
    const place = placeOf(state, receipt, params)
    const given = Math.min(Math.max(place, 0), receipt.units * state.unit, level)
    // Where nothing stands behind them, nothing moves on.
    if (given > 0 && place < level) {
      const note = { scale: state.filledScale, when: state.now, place, parts: given }
      state.wentBackNow = noted(state.wentBackNow, note, drainUs(params))
    }
    write(state, level - given, params)
    return given > 0
  },
}

/** Counts what was written in the parts of this burst, or where it is above the brim in its own, which can hold it. */
function measure(state: TokenBucketState, { burst, scale, rate, windowUs }: TokenBucketParams): void {
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

function write(state: TokenBucketState, level: number, params: TokenBucketParams): void {
  state.level = level
  state.scale = state.filledScale
  measure(state, params)
  state.level = state.levelNow = state.filled
  state.scale = state.filledScale
  state.elapsed = 0
  state.wentBack = state.wentBackNow
}

/** How long a bucket takes to drain, also one that is above the brim. */
function drainUs({ burst, scale, rate, windowUs }: TokenBucketParams): number {
  return Math.max(windowUs, (burst * 2 ** scale) / rate)
}

/**
 * Where the last of some units stands now, in parts from what drains next. A bucket drains in the order it was filled;
 * the level that they brought it to follows from the answer to their request.
 */
function placeOf(
  { unit, pace, now, filledScale, wentBackNow }: TokenBucketState,
  { units, at, remaining, reset }: Receipt,
  { burst, rate }: TokenBucketParams,
): number {
  const place = (burst - remaining - 1) * unit + drained(reset, rate)
  const left = place - drained(Math.max(now - at, 0), pace)
  if (wentBackNow.length === 0) return left
  return left - goneBefore({ at, place, parts: units * unit, scale: filledScale, pace }, wentBackNow)
}
