import { NEVER } from '../../algorithms/implementation.js'
import type { Hold, HoldOutcome } from '../contract.js'
import { findLease, type LeaseBook, type LeaseGroup } from './lease-book.js'

/** Reservations and places among the leases of a subject. The twin of holds.lua in stores/redis: change both. */

/** When the time of a group of places comes. */
function timeOf({ endUs, slackUs }: LeaseGroup): number {
  return endUs - slackUs
}

function isToCome(group: LeaseGroup, now: number): boolean {
  return group.kind === 'place' && timeOf(group) > now
}

/** A hold that was made before with the same id. */
export function knownHold(book: LeaseBook, id: string, now: number): HoldOutcome | undefined {
  const group = findLease(book, id, now)?.group
  if (!group) return undefined
  return { delayUs: isToCome(group, now) ? timeOf(group) - now : 0, endsInUs: group.endUs - now }
}

/** How many places have their time to come. */
export function placesToCome(book: LeaseBook, now: number): number {
  return book.filter((group) => isToCome(group, now)).reduce((places, { leases }) => places + leases.size, 0)
}

/** A limit that a place is sought in. */
export interface Line {
  readonly stateId: number
  /** µs until so many units have come free. */
  readonly wait: (units: number) => number
  /** How much later than told before the time of a place may seem to be, in µs: a bucket rounds its level at every write. */
  readonly roundingUs: number
}

/**
 * In how many µs the cost can have a place of one limit: before all places that can have their units by their time even
 * so. The units of leases, of reservations and of places whose time has come are never waited for.
 */
export function timeInLine(book: LeaseBook, line: Line, cost: number, now: number): number {
  const { stateId, wait, roundingUs } = line
  const beside = book.filter(({ endUs, stateIds }) => endUs > now && stateIds.includes(stateId))
  const places = beside.filter((group) => isToCome(group, now)).sort((a, b) => timeOf(a) - timeOf(b))
  let units = beside.reduce((sum, { out }) => sum + out, cost)
  for (const place of places.reverse()) {
    const fitsIn = wait(units)
    if (fitsIn === NEVER || fitsIn > timeOf(place) - now + roundingUs) return fitsIn
    units -= place.out
  }
  return wait(units)
}

/** When a hold ends. A reservation lasts at least as long as asked for; so those of many requests end at few times. */
export function holdEnd({ kind, lengthUs, slackUs }: Hold, delayUs: number, now: number): number {
  if (kind === 'place') return now + delayUs + slackUs
  const grid = Math.max(1000, Math.floor(lengthUs / 64))
  return Math.ceil((now + lengthUs) / grid) * grid
}
