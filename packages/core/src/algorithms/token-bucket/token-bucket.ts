import { LONGEST_WINDOW_MS } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { isUnits, shareOfUnits } from '../../base/options.js'
import { EARLIEST, NEVER, type Implementation } from '../implementation.js'
import { steadyTerms, type LimitTerms } from '../limit-terms.js'
import { drained, noted, NOTHING_WENT_BACK, type WentBack } from './token-bucket-refunds.js'
import {
  drainUs,
  measure,
  MOST_LEVEL,
  placeOf,
  placeTime,
  raiseEarlier,
  timeToDrain,
  unitOf,
  writeLevel,
  type TokenBucketParams,
  type TokenBucketState,
} from './token-bucket-level.js'

/** For a token-bucket. */
export interface TokenBucketOptions {
  /** For a token-bucket: the units that can be used at once. Default: the quota. */
  readonly burst?: number | undefined
}

/**
 * GCRA, the leaky bucket as a meter: each request raises a level that drains evenly. A request fits if the level stays
 * within the brim, which is the burst. The twin of token-bucket.lua. Worst case in one window length: quota + burst.
 *
 * Levels are whole parts of a unit, and what drained is rounded to a part. A part drains in less than a µs, so answers
 * are exact to the µs and rounding errors do not add up.
 *
 * A level can be above the brim when it comes from a plan with a larger burst. It is not cut off, or moving to a
 * smaller plan and back would empty the bucket. Instead it drains faster, so that it is gone within a window.
 *
 * @see https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm
 */
export const tokenBucket: Implementation<
  TokenBucketState,
  TokenBucketParams,
  TokenBucketOptions,
  'token-bucket'
> = {
  name: 'token-bucket',
  options: ['burst'],

  isMeant: ({ burst }) => burst !== undefined,
  calledForBy: 'burst',
  compile(terms) {
    const { quota, window } = terms
    const burst = burstOf(terms)
    const scale = scaleOf(burst)
    const windowUs = window.ms * 1000
    // At least one window: a level above the brim, from a plan with a larger burst, takes that long to drain.
    const ttlMs = Math.ceil(Math.max(burst / quota, 1) * window.ms) + 1
    return steadyTerms(window.ms, ttlMs, { burst, scale, rate: (quota * 2 ** scale) / windowUs, windowUs })
  },
  capacity: ({ burst }) => burst,
  scale(params, share) {
    const burst = shareOfUnits(params.burst, share)
    const scale = scaleOf(burst)
    return { ...params, burst, scale, rate: params.rate * 2 ** (scale - params.scale) * share }
  },

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
  packing: {
    size: 2,
    unpack(state, numbers, at) {
      state.level = numbers[at] as number
      state.scale = numbers[at + 1] as number
      state.wentBack = NOTHING_WENT_BACK
    },
    pack({ level, scale, wentBack }, numbers, at) {
      numbers[at] = level
      numbers[at + 1] = scale
      return wentBack.length === 0
    },
    // For a level at the scale of this burst, within the brim.
    quick(numbers, at, { cost, takes, last, now }, { burst, scale, rate }) {
      const filled = numbers[at] as number
      const unit = unitOf(scale)
      const brim = burst * unit
      if (numbers[at + 1] !== scale || filled > brim) return undefined
      const elapsed = now - last
      const level = Math.max(filled - drained(elapsed, rate), 0)
      const left = Math.floor((brim - level) / unit)
      if (cost <= left && takes) {
        const [raised, remaining] = [level + cost * unit, left - cost]
        numbers[at] = raised
        return { wait: 0, remaining, reset: timeToDrain(raised - brim + (remaining + 1) * unit, rate) }
      }
      const waitFor = (units: number): number => timeToDrain(filled - brim + units * unit, rate) - elapsed
      return {
        wait: cost <= left ? 0 : cost > burst ? NEVER : waitFor(cost),
        remaining: left,
        reset: left === burst ? 0 : Math.max(waitFor(left + 1), 0),
      }
    },
  },

  load(state, last, now, params) {
    measure(state, params)
    state.elapsed = Math.max(now - last, 0)
    state.levelNow = Math.max(state.filled - drained(state.elapsed, state.pace), 0)
    state.now = now
    const { wentBack } = state
    state.wentBackNow = wentBack
    if (wentBack.length === 0) return
    const newest = wentBack.at(-1) as WentBack
    if (now - newest.when >= drainUs(params)) state.wentBackNow = NOTHING_WENT_BACK
  },

  remaining: ({ unit, levelNow }, { burst }) => Math.max(Math.floor((burst * unit - levelNow) / unit), 0),

  wait({ unit, filled, levelNow, pace, elapsed }, cost, { burst }) {
    if (levelNow + cost * unit <= burst * unit) return 0
    if (cost > burst) return NEVER
    const excess = filled + (cost - burst) * unit
    return timeToDrain(excess, pace) - elapsed
  },

  place: placeTime,
  flow: ({ unit, levelNow }, { burst, scale, rate }) => ({
    level: levelNow / unit,
    most: burst,
    perUs: rate / unitOf(scale),
  }),

  take(state, cost, params) {
    writeLevel(state, state.levelNow + cost * state.unit, params)
  },

  // Another scale means another burst. The receipt does not say where its units are in a bucket of another burst.
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
    // Doubles do not hold the largest levels exactly, hence max and min.
    writeLevel(state, levelNow + Math.min(Math.max(level - denied * unit, 0), room), params)
    return units - denied
  },

  enter: raiseEarlier,
  // Units that went back in front of others must not go back once more with these.
  unitsIn: ({ level, scale, wentBack }) =>
    wentBack.reduce((units, note) => units + unitsOf(note.parts, note.scale), unitsOf(level, scale)),
  // Any number of units fits at this scale.
  stateOf: (level) => ({ ...tokenBucket.create(), level, scale: 0 }),
  countsForUs: drainUs,
  leftAfter: (units, us, { scale, rate }) => Math.max(units - (us * rate) / unitOf(scale), 0),

  give(state, receipt, params) {
    const level = state.levelNow
    // The first to drain have no others before them.
    const place = receipt.at === EARLIEST ? receipt.units * state.unit : placeOf(state, receipt, params)
    const given = Math.min(Math.max(place, 0), receipt.units * state.unit, level)
    // If no units are behind the refund, none move forward, and no note is needed.
    if (given > 0 && place < level) {
      const note = { scale: state.filledScale, when: state.now, place, parts: given }
      state.wentBackNow = noted(state.wentBackNow, note, drainUs(params))
    }
    writeLevel(state, level - given, params)
    return given > 0
  },
}

function burstOf({ quota, window, options, path }: LimitTerms<TokenBucketOptions>): number {
  const { burst = quota } = options
  if (isUnits(burst) && (burst / quota) * window.ms <= LONGEST_WINDOW_MS) return burst
  const expected = 'a whole number of units from 1 to 10^12 that come back within 3000 d, such as the quota'
  throw ConfigError.wrong(`${path}.burst`, burst, expected)
}

/** A level stays below 2^46 parts: doubles hold 53 bits, so there is room for rounding. */
const LEVEL_BITS = 46

/** The scale for this burst: as many parts per unit as possible, as long as the highest level still fits. */
function scaleOf(burst: number): number {
  return LEVEL_BITS - Math.ceil(Math.log2(burst))
}

/** Whole units, rounded up. */
function unitsOf(parts: number, scale: number): number {
  return Math.ceil(parts / 2 ** scale)
}
