/**
 * Units that went back out of the middle of a bucket. Those that stood behind them moved on, so that less of them is
 * held than their own receipts tell: a receipt knows the bucket only as it was when its units were taken.
 */
export interface WentBack {
  /** A unit is 2^scale of the parts below. */
  readonly scale: number
  /** When they went back, in µs. */
  readonly when: number
  /** Where in the bucket the last of them stood then, in parts from what drains next. 0: before all others. */
  readonly place: number
  readonly parts: number
}

export const NOTHING_WENT_BACK: readonly WentBack[] = []

/** Units in a bucket, as they stood when they were taken. */
export interface Standing {
  readonly at: number
  /** Where the last of them stood, in parts from what drained next. */
  readonly place: number
  readonly parts: number
  readonly scale: number
  /** Parts that drain in a µs. */
  readonly pace: number
}

/** More than eight are not told apart. */
const MOST_NOTES = 8
/** What six bytes hold. */
const MOST_PARTS = 2 ** 48 - 1

/**
 * Parts that went back from before some units, after these were taken. Where that is in doubt they are taken to have
 * stood before: of refunds in the same µs it is not known which came first, and places are exact to 2 µs.
 */
export function goneBefore(units: Standing, wentBack: readonly WentBack[]): number {
  const doubt = 2 * units.pace + 16
  let gone = 0
  // The part of it that is beyond doubt. What stands too far back by it would seem not to be behind later ones.
  let sure = 0
  for (const { scale, when, place, parts } of wentBack) {
    if (when < units.at) continue
    const size = 2 ** (units.scale - scale)
    const ownPlace = units.place - drained(when - units.at, units.pace) - sure
    if (place !== 0 && Math.floor(place * size) - doubt > ownPlace - units.parts) continue
    const isSure = gone === sure && place !== 0 && when > units.at
    gone += Math.ceil(parts * size)
    if (isSure) sure = gone
    // In the µs that they were taken in, all of them are still there.
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

/** Two notes as one that nobody gets more back by. */
function joined(first: WentBack, second: WentBack): WentBack {
  const parts = second.parts + Math.ceil(first.parts * 2 ** (second.scale - first.scale))
  return { scale: second.scale, when: second.when, place: 0, parts: Math.min(parts, MOST_PARTS) }
}

/** Parts that drain in so many µs. */
export function drained(elapsed: number, pace: number): number {
  return Math.floor(elapsed * pace + 0.5)
}
