import type { Hold, HoldOutcome } from '../../contract.js'
import { findLiving, type LeaseBook } from './lease-book.js'
import { placesUntil } from './place-line.js'

/** Reservations and places among the leases of a subject. The twin of holds.lua in stores/redis/scripts/beside: change both. */

/** A hold that was made before with the same id. */
export function knownHold(book: LeaseBook, id: string, now: number): HoldOutcome | undefined {
  const living = findLiving(book, id, now)
  if (!living) return undefined
  return { delayUs: Math.max((living.timeUs ?? now) - now, 0), endsInUs: living.endUs - now }
}

/** How many places have their time to come. */
export function placesToCome(book: LeaseBook, now: number): number {
  let count = 0
  for (const line of book) if (line.kind === 'place') count += line.places.length - placesUntil(line, now)
  return count
}

/** How many reservations have not ended. */
export function openReservations(book: LeaseBook, now: number): number {
  let count = 0
  for (const group of book) if (group.kind === 'reservation' && group.endUs > now) count += group.leases.size
  return count
}

/**
 * When a reservation ends: at least as late as asked for, up to a 64th later. Steps are powers of two, since then lengths that
 * differ share ends: so those of many requests end at few times.
 */
export function reservationEnd({ lengthUs }: Hold, now: number): number {
  const grid = 2 ** Math.floor(Math.log2(Math.max(1000, Math.floor(lengthUs / 64))))
  return Math.ceil((now + lengthUs) / grid) * grid
}

/** When a lease of this length ends. So leases of many processes end at few times. */
export function endAfter(now: number, lengthUs: number): number {
  const grid = Math.max(1000, Math.floor(lengthUs / 8))
  return Math.floor((now + lengthUs) / grid) * grid
}
