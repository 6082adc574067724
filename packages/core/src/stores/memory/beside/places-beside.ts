import { NEVER, type Flow } from '../../../algorithms/implementation.js'
import type { LeaseBook } from './lease-book.js'
import { placesUntil, type PlaceLine } from './place-line.js'

/**
 * When a cost can have a place of one limit, in µs from now: before all places that can have their units by their time even so.
 * Units of leases and of reservations are never waited for. The twin of openings.lua and level-openings.lua in stores/redis/scripts/beside: change both.
 */
export interface Opening {
  /** It has none before. */
  readonly leastUs: number
  /** The first at or after `us`; NEVER: none. Called with growing times. */
  from(us: number): number
}

/** The first at or after a time, without an end. */
export function anyFrom(leastUs: number): Opening {
  return { leastUs, from: (us) => (leastUs === NEVER ? NEVER : Math.max(leastUs, us)) }
}

/** A limit that a place is sought in. */
export interface LimitInLine {
  readonly stateId: number
  /** µs until so many units have come free. */
  readonly wait: (units: number) => number
  /** Makes what says how many units have come free after so many µs, if the algorithm can tell. */
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

export function besideOf(book: LeaseBook, stateId: number, now: number): Beside {
  let [held, kept, lastUs] = [0, 0, -1]
  const lines: PlaceLine[] = []
  for (const group of book) {
    if (group.endUs <= now || !group.stateIds.includes(stateId)) continue
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
