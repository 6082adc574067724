import { NEVER, type Flow } from '../../algorithms/implementation.js'
import type { Hold, HoldOutcome } from '../contract.js'
import { timeInLevel } from './level-line.js'
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

/** How many reservations have not ended. */
export function openReservations(book: LeaseBook, now: number): number {
  const open = book.filter(({ kind, endUs }) => kind === 'reservation' && endUs > now)
  return open.reduce((sum, { leases }) => sum + leases.size, 0)
}

/** A limit that a place is sought in. */
export interface Line {
  readonly stateId: number
  /** µs until so many units have come free. */
  readonly wait: (units: number) => number
  /** Of a limit whose units drain together. */
  readonly flow: Flow | undefined
}

/** The cost that a place is sought for, and the fewest µs until its time. */
export interface Sought {
  readonly cost: number
  readonly fromUs: number
}

/**
 * In how many µs the cost can have a place of one limit: before all places that can have their units by their time even
 * so. The units of leases and of reservations are never waited for.
 */
export function timeInLine(book: LeaseBook, line: Line, { cost, fromUs }: Sought, now: number): number {
  const beside = book.filter(({ endUs, stateIds }) => endUs > now && stateIds.includes(line.stateId))
  const places = beside.filter((group) => isToCome(group, now)).sort((a, b) => timeOf(a) - timeOf(b))
  const { wait, flow } = line
  if (flow) {
    const toCome = places.map((group) => ({ timeUs: timeOf(group) - now, units: group.out }))
    const due = unitsOf(beside.filter((group) => group.kind === 'place' && !isToCome(group, now)))
    const kept = unitsOf(beside.filter(({ kind }) => kind !== 'place'))
    return timeInLevel({ flow, wait, due, kept }, toCome, { cost, fromUs })
  }
  let units = unitsOf(beside) + cost
  let fitsIn = wait(units)
  for (const place of places.reverse()) {
    if (fitsIn === NEVER || fitsIn > timeOf(place) - now) break
    units -= place.out
    fitsIn = wait(units)
  }
  return fitsIn === NEVER ? NEVER : Math.max(fitsIn, fromUs)
}

function unitsOf(groups: readonly LeaseGroup[]): number {
  return groups.reduce((sum, { out }) => sum + out, 0)
}

/** When a hold ends. A reservation lasts at least as long as asked for; so those of many requests end at few times. */
export function holdEnd({ kind, lengthUs, slackUs }: Hold, delayUs: number, now: number): number {
  if (kind === 'place') return now + delayUs + slackUs
  const grid = Math.max(1000, Math.floor(lengthUs / 64))
  return Math.ceil((now + lengthUs) / grid) * grid
}

/** When a lease of this length ends. So leases of many processes end at few times. */
export function endAfter(now: number, lengthUs: number): number {
  const grid = Math.max(1000, Math.floor(lengthUs / 8))
  return Math.floor((now + lengthUs) / grid) * grid
}
