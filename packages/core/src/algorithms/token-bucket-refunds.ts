/**
 * A note on a refund of units from the middle of a bucket. The units behind them moved forward, so they drain earlier
 * than their receipts say: a receipt describes the bucket only as of the moment its units were taken.
 */
export interface WentBack {
  /** A unit is 2^scale parts. */
  readonly scale: number
  /** When they were given back, in µs. */
  readonly when: number
  /** How far the last of them was from draining then, in parts. 0: in front of all other units. */
  readonly place: number
  /** How much was given back. */
  readonly parts: number
}

export const NOTHING_WENT_BACK: readonly WentBack[] = []

/** Some units in a bucket, as of when they were taken. */
export interface Standing {
  readonly at: number
  /** How far the last of them was from draining, in parts. */
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
 * How many parts stood in front of some units and were given back after these were taken. In doubt a refund counts as
 * in front, so that these units give back too little rather than too much: the order of refunds in the same µs is not
 * known, and places are exact to 2 µs only.
 */
export function goneBefore(units: Standing, wentBack: readonly WentBack[]): number {
  const doubt = 2 * units.pace + 16
  let gone = 0
  // The certain share of `gone`. Only it moves `ownPlace`: else refunds in front of the units could seem behind them.
  let sure = 0
  for (const { scale, when, place, parts } of wentBack) {
    if (when < units.at) continue
    const size = 2 ** (units.scale - scale)
    const ownPlace = units.place - drained(when - units.at, units.pace) - sure
    if (place !== 0 && Math.floor(place * size) - doubt > ownPlace - units.parts) continue
    const isSure = gone === sure && place !== 0 && when > units.at
    gone += Math.ceil(parts * size)
    if (isSure) sure = gone
    // Nothing of the units had drained in the µs they were taken in, so no more than what was in front can be gone.
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

/** Joins two notes. The result counts as in front of all units, so that no later refund gives back more for it. */
function joined(first: WentBack, second: WentBack): WentBack {
  const parts = second.parts + Math.ceil(first.parts * 2 ** (second.scale - first.scale))
  return { scale: second.scale, when: second.when, place: 0, parts: Math.min(parts, MOST_PARTS) }
}

/** Parts that drain in `elapsed` µs, rounded. */
export function drained(elapsed: number, pace: number): number {
  return Math.floor(elapsed * pace + 0.5)
}
