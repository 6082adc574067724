/** Units that are used at a time. The twin of place-lines.lua in stores/redis/scripts/beside: change both, law 5 (one truth) compares them. */
export interface Place {
  readonly id: string
  readonly timeUs: number
  readonly out: number
  /** Units told as used. */
  readonly told: number
}

/** Places of the same limits, which can be used for the same time, in the order of their times. */
export interface PlaceLine {
  readonly kind: 'place'
  readonly slackUs: number
  /** How long units of these limits count at most, in µs. */
  readonly countsForUs: number
  /** The limits that the units have not entered. */
  readonly stateIds: readonly number[]
  readonly places: readonly Place[]
  /** Units of all places. */
  readonly out: number
  /** When the last of them ends, and when nothing of it counts any more. */
  readonly endUs: number
  readonly expiresUs: number
}

type Terms = Pick<PlaceLine, 'slackUs' | 'countsForUs' | 'stateIds'>

/** A line of these places; none without any. */
export function lineOf({ slackUs, countsForUs, stateIds }: Terms, places: readonly Place[]): PlaceLine[] {
  const last = places.at(-1)
  if (!last) return []
  const endUs = last.timeUs + slackUs
  const out = places.reduce((sum, place) => sum + place.out, 0)
  return [
    { kind: 'place', slackUs, countsForUs, stateIds, places, out, endUs, expiresUs: endUs + countsForUs },
  ]
}

/** How many places have their time until then. */
export function placesUntil({ places }: Pick<PlaceLine, 'places'>, timeUs: number): number {
  let from = 0
  let to = places.length
  while (from < to) {
    const middle = (from + to) >> 1
    if ((places[middle] as Place).timeUs <= timeUs) from = middle + 1
    else to = middle
  }
  return from
}

/** Parts a line into the places that have ended, and the others. */
export function partLine(line: PlaceLine, now: number): PlaceLine[] {
  const ended = placesUntil(line, now - line.slackUs)
  if (ended === 0 || ended === line.places.length) return [line]
  return [...lineOf(line, line.places.slice(0, ended)), ...lineOf(line, line.places.slice(ended))]
}

/** Puts a place behind all of its time and before. */
export function addPlace(line: PlaceLine, place: Place, countsForUs: number): PlaceLine[] {
  const places = line.places.toSpliced(placesUntil(line, place.timeUs), 0, place)
  return lineOf({ ...line, countsForUs: Math.max(line.countsForUs, countsForUs) }, places)
}

/** Keeps some units of the place with this id. */
export function keepOfPlace(
  line: PlaceLine,
  id: string,
  { out, told }: Pick<Place, 'out' | 'told'>,
): PlaceLine[] {
  const at = line.places.findIndex((place) => place.id === id)
  const kept = out > 0 ? [{ ...(line.places[at] as Place), out, told }] : []
  return lineOf(line, line.places.toSpliced(at, 1, ...kept))
}
