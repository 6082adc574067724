/**
 * A note on a refund of units from the middle of a bucket. A bucket drains in the order it was filled: the unit at the
 * front drains next. A refund moves all units behind it forward, so they drain earlier than their receipts say, because
 * a receipt describes the bucket as of the moment its units were taken. The notes correct that.
 *
 * All amounts are in parts, which are fractions of a unit. The place of some units is the number of parts that must
 * drain before the last of these units has drained.
 */
export interface WentBack {
  /** A unit is 2^scale parts. */
  readonly scale: number
  /** When the units were given back, in µs. */
  readonly when: number
  /** Their place at that time, in parts. 0: treat the refund as in front of all other units. */
  readonly place: number
  /** How much was given back, in parts. */
  readonly parts: number
}

export const NOTHING_WENT_BACK: readonly WentBack[] = []

/** Some units in a bucket, as they were when they were taken. */
export interface Standing {
  readonly at: number
  /** Their place, in parts. */
  readonly place: number
  readonly parts: number
  readonly scale: number
  /** Parts that drain per µs. */
  readonly pace: number
}

/** When there are more refunds, the two oldest notes are joined. */
const MOST_NOTES = 8
/** The most that six bytes hold. */
const MOST_PARTS = 2 ** 48 - 1

/**
 * How many of the parts in front of some units were given back after these units were taken. These units have moved
 * forward by that much.
 *
 * When it is not clear whether a refund was in front of the units or behind them, it counts as in front. Then a refund
 * of these units gives back too little rather than too much. It is not clear for refunds in the same µs, whose order is
 * not known, nor for places that differ by less than 2 µs of draining.
 */
export function goneBefore(units: Standing, wentBack: readonly WentBack[]): number {
  const doubt = doubtOf(units.pace)
  let gone = 0
  // The part of `gone` that was in front for certain. Only this moves `ownPlace` forward. If unclear refunds moved it,
  // too, a refund in front of the units could seem to be behind them.
  let sure = 0
  for (const { scale, when, place, parts } of wentBack) {
    if (when < units.at) continue
    const size = 2 ** (units.scale - scale)
    const ownPlace = units.place - drained(when - units.at, units.pace) - sure
    if (place !== 0 && Math.floor(place * size) - doubt > ownPlace - units.parts) continue
    const isSure = gone === sure && place !== 0 && when > units.at
    gone += Math.ceil(parts * size)
    if (isSure) sure = gone
    // In the µs in which the units were taken, none of them had drained yet. So no more can be gone than was in front.
    else if (when === units.at) gone = Math.min(gone, Math.max(units.place - units.parts, 0))
  }
  return gone
}

/** Adds a note, and leaves out those older than `keptUs`. */
export function noted(wentBack: readonly WentBack[], note: WentBack, keptUs: number): readonly WentBack[] {
  const notes = wentBack.filter(({ when }) => note.when - when < keptUs)
  const [first, second, ...rest] = notes
  if (first && second && notes.length >= MOST_NOTES) return [joined(first, second), ...rest, note]
  return [...notes, note]
}

/**
 * Joins two notes into one. Its place is 0, so it counts as in front of all units: then no later refund gives back too
 * much.
 */
function joined(first: WentBack, second: WentBack): WentBack {
  const parts = second.parts + Math.ceil(first.parts * 2 ** (second.scale - first.scale))
  return { scale: second.scale, when: second.when, place: 0, parts: Math.min(parts, MOST_PARTS) }
}

/** How many parts a place can be wrong by: it is exact to 2 µs of draining. */
export function doubtOf(pace: number): number {
  return 2 * pace + 16
}

/** Parts that drain in `elapsed` µs, rounded. */
export function drained(elapsed: number, pace: number): number {
  return Math.floor(elapsed * pace + 0.5)
}
