import { NEVER, type Kernel, type Receipt } from './implementation.js'

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
}

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
export const tokenBucket: Kernel<TokenBucketState, TokenBucketParams> = {
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
  }),

  load(state, last, now, params) {
    measure(state, params)
    state.elapsed = Math.max(now - last, 0)
    state.levelNow = Math.max(state.filled - drained(state.elapsed, state.pace), 0)
    state.now = now
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

  give(state, receipt, params) {
    const level = state.levelNow
    const given = Math.min(stillHeld(state, receipt, params), level)
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
}

function drained(elapsed: number, rate: number): number {
  return Math.floor(elapsed * rate + 0.5)
}

/**
 * What of the refunded units has not drained yet, in parts. A bucket drains in the order it was filled, so they
 * are gone when the level that they brought it to is, and that level follows from the answer to their request.
 */
function stillHeld(
  { unit, pace, now }: TokenBucketState,
  receipt: Receipt,
  { burst, rate }: TokenBucketParams,
): number {
  const filledTo = (burst - receipt.remaining - 1) * unit + drained(receipt.reset, rate)
  const left = filledTo - drained(Math.max(now - receipt.at, 0), pace)
  return Math.min(Math.max(left, 0), receipt.units * unit)
}
