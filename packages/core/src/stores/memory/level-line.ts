import { NEVER, type Flow } from '../../algorithms/implementation.js'
import type { Sought } from './hold-book.js'

/** A limit whose units drain together, and what is beside its level. */
export interface Level {
  readonly flow: Flow
  /** µs until so many units have come free, if the level never runs dry. */
  readonly wait: (units: number) => number
  /** Units of places whose time has come: they are as good as used. */
  readonly due: number
  /** Units on lease and reserved: they may stay beside the level, and are never waited for. */
  readonly kept: number
}

export interface Place {
  /** When its time comes, in µs from now. */
  readonly timeUs: number
  readonly units: number
}

/** A spot in line: the first is before all places, and each of the others behind one. */
interface Spot {
  readonly fromUs: number
  /** When the cost fits there. */
  readonly fitsUs: number
  /** The level from then on, and what was lost before since the level had run dry, in units. */
  readonly level: number
  readonly lost: number
}

/** A bucket rounds its level at every write, so the time of a place may seem to be this late, in µs. */
const ROUNDING_US = 2

/**
 * In how many µs the cost can have a place. What drains is lost when the level has run dry before a place that was booked
 * late, as where others were given back: so it is followed from place to place. The twin of level-line.lua in
 * stores/redis: change both.
 *
 * @param places in the order of their times
 */
export function timeInLevel(level: Level, places: readonly Place[], { cost, fromUs }: Sought): number {
  const { flow, kept } = level
  if (kept + cost > flow.most) return NEVER
  const spare = ROUNDING_US * flow.perUs
  const { spots, rooms } = spotsOf(level, places, cost)
  let found = NEVER
  // How much more, together with what was lost before, the places behind a spot have room for.
  let room = Infinity
  for (let i = places.length; i >= 0; i -= 1) {
    const spot = spots[i] as Spot
    const time = Math.max(spot.fitsUs, spot.fromUs, fromUs)
    const lost = spot.lost + Math.max((time - spot.fromUs) * flow.perUs - spot.level, 0)
    if (time <= (places[i]?.timeUs ?? Infinity) && room >= cost + lost - spare) found = time
    room = Math.min(room, rooms[i - 1] ?? Infinity)
  }
  return found
}

/** The spots in line, and the room that each place has. */
function spotsOf(
  { flow, wait, due, kept }: Level,
  places: readonly Place[],
  cost: number,
): { spots: Spot[]; rooms: number[] } {
  let level = flow.level + due
  let lost = 0
  let units = kept + due + cost
  /** When the level last stopped being dry, and the units since then. */
  let start = NEVER
  let since = kept + cost
  const spots: Spot[] = [{ fromUs: 0, fitsUs: wait(units), level, lost }]
  const rooms: number[] = []
  for (const { timeUs, units: own } of places) {
    const drained = (timeUs - (spots.at(-1) as Spot).fromUs) * flow.perUs
    if (drained > level + ROUNDING_US * flow.perUs) {
      lost += drained - level
      start = timeUs
      since = kept + cost
    }
    level = Math.max(level - drained, 0)
    rooms.push(flow.most - kept - level - own + lost)
    level += own
    units += own
    since += own
    const fitsUs =
      start === NEVER ? wait(units) : start + Math.ceil(Math.max(since - flow.most, 0) / flow.perUs)
    spots.push({ fromUs: timeUs, fitsUs, level, lost })
  }
  return { spots, rooms }
}
