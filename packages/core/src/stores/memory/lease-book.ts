import type { Hold, LeaseReport } from '../contract.js'

/** Units that are out, and units told as used. */
interface Lease {
  readonly out: number
  readonly told: number
}

/**
 * Leases that end together and are of the same limits. They stand beside the limits' states, the oldest group first. A
 * reservation or a place is a lease in a group of another kind. The twin of leases.lua and lease-order.lua in stores/redis: change both, law 5 (one truth) compares them.
 */
export interface LeaseGroup {
  readonly kind: 'lease' | Hold['kind']
  readonly endUs: number
  /** How long before the end its units count as used, in µs: 0 of holds. */
  readonly lagUs: number
  /** Of places: how long before the end their time is, in µs; else 0. */
  readonly slackUs: number
  /** When nothing of it counts any more. */
  readonly expiresUs: number
  /** The limits that its units have not entered. */
  readonly stateIds: readonly number[]
  readonly leases: ReadonlyMap<string, Lease>
  /** Units that are out, of all its leases. */
  readonly out: number
}

export type LeaseBook = readonly LeaseGroup[]

/** Units that enter the limits as used this many µs ago. */
export interface Entry {
  readonly units: number
  readonly ageUs: number
}

export const NO_LEASES: LeaseBook = []

/** The groups as of now. If the clock went back since the last write, their times go back with it. */
export function groupsAt(book: LeaseBook, last: number, now: number): LeaseBook {
  const back = Math.max(last - now, 0)
  return book.map((group) => ({ ...group, endUs: group.endUs - back, expiresUs: group.expiresUs - back }))
}

/**
 * What enters a limit, since its leases have ended: the oldest first. Also what counts no more, since it can be in the
 * window of what still does.
 *
 * @param drains whether units drain together. Then those of a place enter as of its time: else the level would drain
 *               nothing while the place waits to be used, and the line would be slower than the limit
 */
export function entriesOf(book: LeaseBook, stateId: number, drains: boolean, now: number): Entry[] {
  return book
    .filter(({ kind, endUs }) => endUs <= now && kind !== 'reservation')
    .filter(({ stateIds }) => stateIds.includes(stateId))
    .map(({ out, endUs, lagUs, slackUs }) => ({
      units: out,
      ageUs: now - (endUs - lagUs - (drains ? slackUs : 0)),
    }))
}

/** The groups after all that has ended entered these limits. What it has to enter elsewhere waits. */
export function withoutEntered(book: LeaseBook, stateIds: readonly number[], now: number): LeaseBook {
  return book.flatMap((group) => {
    if (group.endUs > now) return [group]
    if (group.expiresUs <= now) return []
    const others = group.stateIds.filter((id) => !stateIds.includes(id))
    return others.length > 0 ? [{ ...group, stateIds: others, leases: new Map<string, Lease>() }] : []
  })
}

/** How many units of a limit are on lease, and in how many µs the last of them come back. */
export function leasedOf(book: LeaseBook, stateId: number, now: number): { units: number; endsInUs: number } {
  const groups = book.filter((group) => group.endUs > now && group.stateIds.includes(stateId))
  return {
    units: groups.reduce((sum, { out }) => sum + out, 0),
    endsInUs: Math.max(0, ...groups.map(({ endUs }) => endUs - now)),
  }
}

/** When nothing on lease counts any more. */
export function endOf(book: LeaseBook): number {
  return Math.max(0, ...book.map(({ expiresUs }) => expiresUs))
}

/** What a report makes of the groups, what was used since the report before, and whether its lease is known. */
export function settleReport(
  book: LeaseBook,
  { id, used, left }: LeaseReport,
  now: number,
): { book: LeaseBook; used: Entry; isKnown: boolean } {
  const group = groupWith(book, id, now)
  const lease = group?.leases.get(id)
  if (!group || !lease) return { book, used: { units: 0, ageUs: 0 }, isKnown: left === 0 && used === 0 }
  const units = Math.max(Math.min(used - lease.told, lease.out), 0)
  const out = Math.min(lease.out - units, left)
  const ageUs = group.lagUs > 0 ? Math.max(now - group.endUs + group.lagUs, 0) : 0
  if (out === lease.out) return { book, used: { units, ageUs }, isKnown: true }
  const leases = new Map(group.leases)
  if (out > 0) leases.set(id, { out, told: lease.told + units })
  else leases.delete(id)
  const changed = { ...group, leases, out: group.out - lease.out + out }
  const kept = book.map((one) => (one === group ? changed : one)).filter((one) => one.out > 0)
  return { book: kept, used: { units, ageUs }, isKnown: true }
}

/** A lease that lives, and its group. */
export function findLease(
  book: LeaseBook,
  id: string,
  now: number,
): { readonly units: number; readonly group: LeaseGroup } | undefined {
  const group = groupWith(book, id, now)
  const lease = group?.leases.get(id)
  return group && lease && { units: lease.out, group }
}

/** Puts a lease into the group of its kind, end, lag and slack, of these limits. Without any limit it stands nowhere. */
export function addLease(
  book: LeaseBook,
  { id, units }: { readonly id: string; readonly units: number },
  group: Omit<LeaseGroup, 'leases' | 'out'>,
): LeaseBook {
  if (group.stateIds.length === 0) return book
  const lease = [id, { out: units, told: 0 }] as const
  const same = book.find((other) => isSame(other, group))
  if (!same) {
    const made = { ...group, leases: new Map([lease]), out: units }
    return [...book, made].sort((a, b) => a.endUs - a.lagUs - (b.endUs - b.lagUs))
  }
  const joined = {
    ...same,
    leases: new Map([...same.leases, lease]),
    out: same.out + units,
    expiresUs: Math.max(same.expiresUs, group.expiresUs),
  }
  return book.map((other) => (other === same ? joined : other))
}

function isSame(a: Omit<LeaseGroup, 'leases' | 'out'>, b: Omit<LeaseGroup, 'leases' | 'out'>): boolean {
  const isOfKind = a.kind === b.kind && a.lagUs === b.lagUs && a.slackUs === b.slackUs
  return isOfKind && a.endUs === b.endUs && String(a.stateIds) === String(b.stateIds)
}

function groupWith(book: LeaseBook, id: string, now: number): LeaseGroup | undefined {
  return book.find(({ endUs, leases }) => endUs > now && leases.has(id))
}
