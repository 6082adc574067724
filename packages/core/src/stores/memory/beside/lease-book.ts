import type { Usage } from '../../../algorithms/implementation.js'
import type { LeaseReport } from '../../contract.js'
import {
  addPlace,
  isOfLimit,
  keepOfPlace,
  lineOf,
  partLine,
  type Place,
  type PlaceLine,
  placesUntil,
} from './place-line.js'

/** Units that are out, and units reported as used. */
interface Lease {
  readonly out: number
  readonly told: number
}

/**
 * Leases that end together and are of the same limits. They stand beside the limits' states. A reservation is a lease in a group of
 * another kind, and so is a place, in a line. The twin of leases.lua and lease-order.lua in stores/redis/scripts/beside: change both, law 5 (one
 * truth) compares them.
 */
export interface LeaseGroup {
  readonly kind: 'lease' | 'reservation'
  readonly endUs: number
  /** How long before the end its units count as used, in µs: 0 of reservations. */
  readonly lagUs: number
  /** When nothing of it counts any more. */
  readonly expiresUs: number
  /** The limits that its units have not entered. */
  readonly stateIds: readonly number[]
  readonly leases: ReadonlyMap<string, Lease>
  /** Units that are out, of all its leases. */
  readonly out: number
}

export type LeaseBook = readonly (LeaseGroup | PlaceLine)[]

export const NO_LEASES: LeaseBook = []

/**
 * The groups as of now, the ended ones apart. If the clock went back since the last write, their times go back with it.
 */
export function groupsAt(book: LeaseBook, last: number, now: number): LeaseBook {
  const back = Math.max(last - now, 0)
  return book.flatMap((group): LeaseBook => {
    if (group.kind !== 'place')
      return [{ ...group, endUs: group.endUs - back, expiresUs: group.expiresUs - back }]
    if (back === 0) return partLine(group, now)
    const places = group.places.map((place) => ({ ...place, timeUs: place.timeUs - back }))
    return lineOf(group, places).flatMap((line) => partLine(line, now))
  })
}

/** Units that have ended and do not come back. */
export interface Ended {
  /** The limits that they have not entered. */
  readonly stateIds: readonly number[]
  readonly units: number
  /** When they count as used, in µs. */
  readonly entryUs: number
  /** Of places: how long before that their time was, in µs; else 0. */
  readonly slackUs: number
}

/** All that has ended, the oldest first. Also what counts no more, since it can be in the window of what still does. */
export function endedOf(book: LeaseBook, now: number): Ended[] {
  const ended = book.flatMap((group): Ended[] => {
    const { kind, endUs, stateIds, out } = group
    if (endUs > now || kind === 'reservation') return []
    if (kind === 'place') return endedPlaces(group)
    return [{ stateIds, units: out, entryUs: endUs - group.lagUs, slackUs: 0 }]
  })
  return ended.sort((a, b) => a.entryUs - b.entryUs)
}

/** Those of one time enter together. */
function endedPlaces({ places, stateIds, slackUs }: PlaceLine): Ended[] {
  const ended: Ended[] = []
  for (const { timeUs, out } of places) {
    const entryUs = timeUs + slackUs
    const before = ended.at(-1)
    const isSame = before?.entryUs === entryUs
    const units = out + (isSame ? before.units : 0)
    if (isSame) ended.pop()
    ended.push({ stateIds, units, entryUs, slackUs })
  }
  return ended
}

/** The groups without what has ended and has entered these limits. What must still enter other limits stays. */
export function withoutEntered(book: LeaseBook, ids: readonly number[], now: number): LeaseBook {
  const kept: (LeaseGroup | PlaceLine)[] = book.filter(({ endUs }) => endUs > now)
  for (const group of book) {
    const others = group.stateIds.filter((id) => !ids.includes(id))
    if (group.endUs > now || group.expiresUs <= now || others.length === 0) continue
    if (group.kind !== 'place') kept.push({ ...group, stateIds: others, leases: new Map<string, Lease>() })
    else keepEnded(kept, { ...group, stateIds: others }, now)
  }
  return kept
}

/** Puts a line that has ended to that of the same limits, so that there are few. */
function keepEnded(book: (LeaseGroup | PlaceLine)[], line: PlaceLine, now: number): void {
  const at = book.findIndex((other) => other.endUs <= now && isSameLine(other, line))
  const same = book[at] as PlaceLine | undefined
  if (!same) return void book.push(line)
  const places = [...same.places, ...line.places].sort((a, b) => a.timeUs - b.timeUs)
  const countsForUs = Math.max(same.countsForUs, line.countsForUs)
  book.splice(at, 1, ...lineOf({ ...line, countsForUs }, places))
}

function isSameLine(group: LeaseGroup | PlaceLine, line: Pick<PlaceLine, 'slackUs' | 'stateIds'>): boolean {
  if (group.kind !== 'place' || group.slackUs !== line.slackUs) return false
  return String(group.stateIds) === String(line.stateIds)
}

/** How many units of a limit are on lease, and in how many µs the last of them come back. */
export function leasedOf(
  book: LeaseBook,
  ids: readonly number[],
  now: number,
): { units: number; endsInUs: number } {
  let [units, endsInUs] = [0, 0]
  for (const { endUs, stateIds, out } of book) {
    if (endUs <= now || !isOfLimit(stateIds, ids)) continue
    units += out
    endsInUs = Math.max(endsInUs, endUs - now)
  }
  return { units, endsInUs }
}

/** Units of a limit that are on lease, and those of its places before this time. */
export function heldUntil(book: LeaseBook, ids: readonly number[], timeUs: number, now: number): number {
  let units = 0
  for (const group of book) {
    if (group.endUs <= now || group.kind === 'reservation' || !isOfLimit(group.stateIds, ids)) continue
    const places = group.kind === 'place' ? group.places.slice(0, placesUntil(group, timeUs - 1)) : [group]
    units += places.reduce((sum, { out }) => sum + out, 0)
  }
  return units
}

/** When nothing on lease counts any more. */
export function endOf(book: LeaseBook): number {
  return Math.max(0, ...book.map(({ expiresUs }) => expiresUs))
}

/** A lease, reservation or place that lives. */
export interface Living extends Lease {
  readonly group: LeaseGroup | PlaceLine
  readonly endUs: number
  /** Of a place. */
  readonly timeUs?: number
}

export function findLiving(book: LeaseBook, id: string, now: number): Living | undefined {
  for (const group of book) {
    if (group.endUs <= now) continue
    if (group.kind !== 'place') {
      const lease = group.leases.get(id)
      if (lease) return { ...lease, group, endUs: group.endUs }
      continue
    }
    const place = group.places.find((one) => one.id === id)
    if (place) return { ...place, group, endUs: place.timeUs + group.slackUs }
  }
  return undefined
}

/** What was used of a lease, and the limits that it was taken from; none if nothing was used. */
export interface UsedOfLease extends Usage {
  readonly stateIds: readonly number[]
}

/** What a report makes of the groups, what was used since the report before, and whether its lease is known. */
export function settleReport(
  book: LeaseBook,
  { id, used, left }: LeaseReport,
  now: number,
): { book: LeaseBook; used: UsedOfLease; isKnown: boolean } {
  const living = findLiving(book, id, now)
  if (!living) {
    return { book, used: { units: 0, ageUs: 0, stateIds: [] }, isKnown: left === 0 && used === 0 }
  }
  const { group, told } = living
  const units = Math.max(Math.min(used - told, living.out), 0)
  const out = Math.min(living.out - units, left)
  const lagUs = group.kind === 'lease' ? group.lagUs : 0
  const ageUs = lagUs > 0 ? Math.max(now - group.endUs + lagUs, 0) : 0
  const entry = { units, ageUs, stateIds: units > 0 ? group.stateIds : [] }
  if (out === living.out) return { book, used: entry, isKnown: true }
  const kept = { out, told: told + units }
  const changed = group.kind === 'place' ? keepOfPlace(group, id, kept) : keepOfLease(group, id, kept)
  return { book: book.flatMap((one) => (one === group ? changed : one)), used: entry, isKnown: true }
}

function keepOfLease(group: LeaseGroup, id: string, kept: Lease): LeaseGroup[] {
  const leases = new Map(group.leases)
  const before = leases.get(id)?.out ?? 0
  if (kept.out > 0) leases.set(id, kept)
  else leases.delete(id)
  const out = group.out - before + kept.out
  return out > 0 ? [{ ...group, leases, out }] : []
}

/** Adds a lease to the group with its kind, end, lag and limits. Without any limit it is not kept. */
export function addLease(
  book: LeaseBook,
  { id, units }: { readonly id: string; readonly units: number },
  group: Omit<LeaseGroup, 'leases' | 'out'>,
): LeaseBook {
  if (group.stateIds.length === 0) return book
  const lease = [id, { out: units, told: 0 }] as const
  const same = book.find((other): other is LeaseGroup => isSame(other, group))
  if (!same) return [...book, { ...group, leases: new Map([lease]), out: units }]
  const joined = {
    ...same,
    leases: new Map([...same.leases, lease]),
    out: same.out + units,
    expiresUs: Math.max(same.expiresUs, group.expiresUs),
  }
  return book.map((other) => (other === same ? joined : other))
}

function isSame(a: LeaseGroup | PlaceLine, b: Omit<LeaseGroup, 'leases' | 'out'>): boolean {
  if (a.kind !== b.kind || a.lagUs !== b.lagUs || a.endUs !== b.endUs) return false
  return String(a.stateIds) === String(b.stateIds)
}

/** Puts a place into the line of its limits and its slack. Without any limit it stands nowhere. */
export function bookPlace(
  book: LeaseBook,
  place: Pick<Place, 'id' | 'timeUs' | 'out'>,
  terms: Pick<PlaceLine, 'slackUs' | 'countsForUs' | 'stateIds'>,
  now: number,
): LeaseBook {
  if (terms.stateIds.length === 0) return book
  const booked = { ...place, told: 0 }
  const at = book.findIndex((other) => other.endUs > now && isSameLine(other, terms))
  if (at < 0) return [...book, ...lineOf(terms, [booked])]
  return book.toSpliced(at, 1, ...addPlace(book[at] as PlaceLine, booked, terms.countsForUs))
}
