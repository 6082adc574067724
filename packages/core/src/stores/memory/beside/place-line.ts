import { NEVER, type Flow } from '../../../algorithms/implementation.js'
import type { LeaseBook } from './lease-book.js'

/** Units that are used at a time. The twin of place-lines.lua in stores/redis/scripts/beside: change both, law 5 (one truth) compares them. */
export interface Place {
  readonly id: string
  readonly timeUs: number
  readonly out: number
  /** Units reported as used. */
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

/**
 * When a cost can have a place of one limit, in µs from now: in front of every queued request that still gets its units in time.
 * Units of leases and of reservations are never waited for. The twin of openings.lua and level-openings.lua in stores/redis/scripts/beside: change both.
 */
export interface Opening {
  /** It has none before. */
  readonly leastUs: number
  /** The first at or after `us`; NEVER: none. Called with growing times. */
  from(us: number): number
}

/** An opening at any time from this one on. */
export function anyFrom(leastUs: number): Opening {
  return { leastUs, from: (us) => (leastUs === NEVER ? NEVER : Math.max(leastUs, us)) }
}

/** A limit that a place is sought in. */
export interface LimitInLine {
  /** As in PreparedLimit. */
  readonly ids: readonly number[]
  /** µs until this many units have come free. */
  readonly wait: (units: number) => number
  /** Makes a function that returns how many units have come free after a time in µs, if the algorithm knows. */
  readonly leftIn: () => ((us: number) => number) | undefined
  /** Of a limit whose units drain together. */
  readonly flow: Flow | undefined
}

/** What is beside a limit. */
export interface Beside {
  /** All units; and those of leases and reservations, which are never waited for. */
  readonly held: number
  readonly kept: number
  /** When the last place comes; below 0 without any. */
  readonly lastUs: number
  readonly lines: readonly PlaceLine[]
}

/** A place that is to come. */
export interface Coming {
  readonly inUs: number
  readonly units: number
}

/** Whether a group of these state ids is of a limit with these ids. */
export function isOfLimit(stateIds: readonly number[], ids: readonly number[]): boolean {
  return ids.some((id) => stateIds.includes(id))
}

export function besideOf(book: LeaseBook, ids: readonly number[], now: number): Beside {
  let [held, kept, lastUs] = [0, 0, -1]
  const lines: PlaceLine[] = []
  for (const group of book) {
    if (group.endUs <= now || !isOfLimit(group.stateIds, ids)) continue
    held += group.out
    if (group.kind === 'place') {
      lines.push(group)
      lastUs = Math.max(lastUs, group.endUs - group.slackUs - now)
    } else kept += group.out
  }
  return { held, kept, lastUs, lines }
}

/** The places to come, in the order of their times. */
export function comingOf({ lines }: Beside, now: number): Coming[] {
  const coming = lines.flatMap((line) =>
    line.places.slice(placesUntil(line, now)).map(({ timeUs, out }) => ({ inUs: timeUs - now, units: out })),
  )
  return lines.length > 1 ? coming.sort((a, b) => a.inUs - b.inUs) : coming
}

export function unitsOf(coming: readonly Coming[]): number {
  return coming.reduce((sum, { units }) => sum + units, 0)
}
