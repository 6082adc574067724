import { NEVER, type Flow } from '../../../algorithms/implementation.js'
import type { LeaseBook } from './lease-book.js'
import {
  anyFrom,
  comingOf,
  unitsOf,
  type Beside,
  type Coming,
  type LimitInLine,
  type Opening,
  besideOf,
} from './place-line.js'

/** Places of limits whose units drain together. The twin of level-openings.lua in stores/redis/scripts/beside: change both. */

/** A bucket rounds its level at every write, so the time of a place may seem to be this late, in µs. */
const ROUNDING_US = 2

type LevelInLine = LimitInLine & { readonly flow: Flow }

/**
 * What drains is lost when the level has run dry before a place that was booked late, as where others were given back: so it is
 * followed from place to place, unless it is full behind the last one.
 */
export function openingInLevel(limit: LevelInLine, beside: Beside, cost: number, now: number): Opening {
  const { flow, wait } = limit
  const { held, kept, lastUs } = beside
  if (kept + cost > flow.most) return anyFrom(NEVER)
  const endUs = wait(held + cost)
  const isFull = flow.level + held - lastUs * flow.perUs >= flow.most - ROUNDING_US * flow.perUs
  if (lastUs <= 0 || isFull) return anyFrom(endUs)
  // By then the last place has left room for it, whatever was lost.
  const sureUs = Math.max(endUs, lastUs + Math.ceil(cost / flow.perUs))
  let spots: Spots | undefined
  return {
    leastUs: 0,
    from(us) {
      if (us >= sureUs) return us
      spots ??= new Spots(limit, { ...beside, coming: comingOf(beside, now) }, cost)
      return spots.from(us)
    },
  }
}

/** A spot in line: the first is before all places, and each of the others behind one. */
interface Spot {
  readonly fromUs: number
  /** The level from then on, and what was lost before since the level had run dry, in units. */
  readonly level: number
  readonly lost: number
  /** When the level last stopped being dry, or NEVER; and the units from then on, or from now on, with the cost. */
  readonly sinceUs: number
  readonly units: number
  /** How much more the places behind have room for, together with what was lost before. */
  room: number
}

class Spots {
  readonly #limit: LevelInLine
  readonly #spots: readonly Spot[]
  readonly #cost: number
  #next = 0

  constructor(limit: LevelInLine, beside: Beside & { readonly coming: readonly Coming[] }, cost: number) {
    this.#limit = limit
    this.#cost = cost
    this.#spots = spotsOf(limit.flow, beside, cost)
  }

  from(us: number): number {
    const { flow } = this.#limit
    for (; this.#next < this.#spots.length; this.#next += 1) {
      const spot = this.#spots[this.#next] as Spot
      const untilUs = this.#spots[this.#next + 1]?.fromUs ?? Infinity
      const room = spot.room - this.#cost + ROUNDING_US * flow.perUs
      if (untilUs < us || room < spot.lost) continue
      const timeUs = Math.max(this.#fitsAt(spot), spot.fromUs, us)
      const lost = spot.lost + Math.max((timeUs - spot.fromUs) * flow.perUs - spot.level, 0)
      if (timeUs <= untilUs && room >= lost) return timeUs
    }
    return NEVER
  }

  #fitsAt({ sinceUs, units }: Spot): number {
    const { flow, wait } = this.#limit
    if (sinceUs === NEVER) return wait(units)
    return sinceUs + Math.ceil(Math.max(units - flow.most, 0) / flow.perUs)
  }
}

function spotsOf(
  flow: Flow,
  { held, kept, coming }: Beside & { readonly coming: readonly Coming[] },
  cost: number,
): Spot[] {
  const due = held - kept - unitsOf(coming)
  let [level, lost, sinceUs, units] = [flow.level + due, 0, NEVER, kept + due + cost]
  const spots: Spot[] = [{ fromUs: 0, level, lost, sinceUs, units, room: Infinity }]
  const rooms: number[] = []
  for (const { inUs, units: own } of coming) {
    const drained = (inUs - (spots.at(-1) as Spot).fromUs) * flow.perUs
    if (drained > level + ROUNDING_US * flow.perUs) {
      lost += drained - level
      sinceUs = inUs
      units = kept + cost
    }
    level = Math.max(level - drained, 0)
    rooms.push(flow.most - kept - level - own + lost)
    level += own
    units += own
    spots.push({ fromUs: inUs, level, lost, sinceUs, units, room: Infinity })
  }
  let room = Infinity
  for (let i = rooms.length - 1; i >= 0; i -= 1) {
    room = Math.min(room, rooms[i] as number)
    ;(spots[i] as Spot).room = room
  }
  return spots
}

/** Where there is a place for the cost. The twin of openings.lua in stores/redis/scripts/beside: change both. */
export function openingOf(book: LeaseBook, limit: LimitInLine, cost: number, now: number): Opening {
  const beside = besideOf(book, limit.ids, now)
  const { flow, wait, leftIn } = limit
  const { held, lastUs } = beside
  if (flow) return openingInLevel({ ...limit, flow }, beside, cost, now)
  const endUs = wait(held + cost)
  // Most often it cannot go before the last place, and so before none.
  if (!isWithin(endUs, lastUs)) return anyFrom(endUs)
  const coming = comingOf(beside, now)
  const left = leftIn()
  let units = held - unitsOf(coming)
  const canWait = coming.map((place) => {
    units += place.units
    return left ? left(place.inUs) - units >= cost : isWithin(wait(units + cost), place.inUs)
  })
  for (let i = coming.length; i > 0 && canWait[i - 1]; i -= 1) units -= (coming[i - 1] as Coming).units
  return anyFrom(wait(units + cost))
}

function isWithin(us: number, mostUs: number): boolean {
  return us !== NEVER && us <= mostUs
}
