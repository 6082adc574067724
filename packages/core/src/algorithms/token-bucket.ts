import { NEVER, type Kernel, type Refund } from './kernel.js'

export interface TokenBucketParams {
  readonly burst: number
  /** One unit is 2^scale parts of level, so that a level is a whole number that doubles hold exactly. */
  readonly scale: number
  /** Parts that drain in a µs; not whole. */
  readonly rate: number
}

export interface TokenBucketState {
  /** How full the bucket was at the last write, in parts, and the scale of those. */
  level: number
  scale: number
  /** The same in today's parts, how long ago that was, and what has not drained of it. */
  filled: number
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
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 */
export const tokenBucket: Kernel<TokenBucketState, TokenBucketParams> = {
  code: 4,
  wire: ['burst', 'scale', 'rate'],

  create: () => ({ level: 0, scale: 0, filled: 0, elapsed: 0, levelNow: 0, now: 0 }),

  load(state, last, now, { burst, scale, rate }) {
    const filled = Math.ceil(state.level * 2 ** (scale - state.scale))
    state.filled = Math.min(filled, burst * 2 ** scale)
    state.elapsed = Math.max(now - last, 0)
    state.levelNow = Math.max(state.filled - drained(state.elapsed, rate), 0)
    state.now = now
  },

  remaining: (state, { burst, scale }) => Math.floor((burst * 2 ** scale - state.levelNow) / 2 ** scale),

  wait(state, cost, { burst, scale, rate }) {
    if (state.levelNow + cost * 2 ** scale <= burst * 2 ** scale) return 0
    if (cost > burst) return NEVER
    const excess = state.filled + (cost - burst) * 2 ** scale
    let elapsed = Math.ceil((excess - 0.5) / rate)
    while (drained(elapsed, rate) < excess) elapsed += 1
    return elapsed - state.elapsed
  },

  take(state, cost, params) {
    write(state, state.levelNow + cost * 2 ** params.scale, params)
  },

  // In parts of another size, which were of another burst: the level would be cut off at this one.
  isOther: (state, { scale }) => state.level > 0 && state.scale !== scale,

  give(state, refund, params) {
    const level = state.levelNow
    const given = Math.min(stillHeld(state, refund, params), level)
    write(state, level - given, params)
    return given > 0
  },
}

function write(state: TokenBucketState, level: number, { scale }: TokenBucketParams): void {
  state.level = state.filled = state.levelNow = level
  state.scale = scale
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
  state: TokenBucketState,
  refund: Refund,
  { burst, scale, rate }: TokenBucketParams,
): number {
  const unit = 2 ** scale
  const filledTo = (burst - refund.remaining - 1) * unit + drained(refund.reset, rate)
  const left = filledTo - drained(Math.max(state.now - refund.at, 0), rate)
  return Math.min(Math.max(left, 0), refund.units * unit)
}
