import { NEVER } from '../../../algorithms/implementation.js'
import type { LeaseBook } from './lease-book.js'
import { openingInLevel } from './level-openings.js'
import {
  anyFrom,
  besideOf,
  comingOf,
  unitsOf,
  type Coming,
  type LimitInLine,
  type Opening,
} from './places-beside.js'

/** Where there is a place for the cost. The twin of openings.lua in stores/redis/scripts/beside: change both. */
export function openingOf(book: LeaseBook, limit: LimitInLine, cost: number, now: number): Opening {
  const beside = besideOf(book, limit.stateId, now)
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
