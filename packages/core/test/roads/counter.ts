import { calendarStart, capacityOf, slotMsOf, type LimitSpec } from './limits.js'
import { levelsOf } from './bucket.js'

/** What happened to one counter, in the order of the clock. Times in µs. */
export type Entry =
  | { readonly what: 'take'; readonly id: number; readonly at: number; readonly units: number }
  | { readonly what: 'give'; readonly id: number; readonly at: number; readonly units: number }
export type Take = Extract<Entry, { what: 'take' }>

/** At least so many units, and at most so many: the same where the laws leave no choice. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

/** Units left of a limit at an instant, from the ledger alone: nothing is kept between two calls. */
export function roomOf(entries: readonly Entry[], now: number, spec: LimitSpec): Bounds {
  if (spec.kind === 'bucket') return roomOfBucket(entries, now, spec)
  const used = usedOf(entries, now, spec)
  const capacity = capacityOf(spec)
  return { least: Math.max(capacity - used.most, 0), most: Math.max(capacity - used.least, 0) }
}

/** Of the units that a request took, what a refund of `units` gives back at an instant. */
export function givenOf(
  entries: readonly Entry[],
  { id, at, units }: { readonly id: number; readonly at: number; readonly units: number },
  spec: LimitSpec,
): Bounds {
  if (spec.kind === 'bucket') {
    const held = levelsOf(entries, at, spec)
    const isDisputed = held.isDisputed(id)
    const most = Math.min(held.most(id) / held.unit, units)
    return { least: isDisputed ? 0 : most, most }
  }
  const take = entries.find((entry): entry is Take => entry.what === 'take' && entry.id === id)
  if (!take) return { least: 0, most: 0 }
  const counts = countsAt(entries, take, at, spec)
  return { least: counts.least ? units : 0, most: counts.most ? units : 0 }
}

function roomOfBucket(entries: readonly Entry[], now: number, spec: LimitSpec): Bounds {
  const { unit, low, high, tolerance } = levelsOf(entries, now, spec)
  const left = (level: number): number => Math.max(Math.floor((spec.burst * unit - level) / unit), 0)
  return { least: left(high + tolerance), most: left(Math.max(low - tolerance, 0)) }
}

/** Of any algorithm that counts whole units. */
function usedOf(entries: readonly Entry[], now: number, spec: LimitSpec): Bounds {
  if (spec.kind === 'fixed') {
    const { count } = openWindow(entries, now, spec.windowMs * 1000)
    return { least: count, most: count }
  }
  let least = 0
  let most = 0
  let previous = 0
  for (const entry of entries) {
    if (entry.what !== 'take') continue
    const held = heldOf(entries, entry, spec)
    if (spec.kind === 'window' && ageInWindows(entry.at, now, spec) === 1) previous += held.most
    else {
      const counts = countsAt(entries, entry, now, spec)
      if (counts.least) least += held.least
      if (counts.most) most += held.most
    }
  }
  if (spec.kind !== 'window') return { least, most }
  const windowUs = spec.windowMs * 1000
  const used = least + Math.ceil((previous * (windowUs - (now % windowUs))) / windowUs)
  return { least: used, most: used }
}

/** What of a request's units has not been given back. */
function heldOf(entries: readonly Entry[], take: Take, spec: LimitSpec): Bounds {
  let least = take.units
  let most = take.units
  for (const entry of entries) {
    if (entry.what !== 'give' || entry.id !== take.id) continue
    const counts = countsAt(entries, take, entry.at, spec)
    if (counts.most) least -= entry.units
    if (counts.least) most -= entry.units
  }
  return { least, most }
}

/** Whether units still count at a time: surely, and possibly. */
function countsAt(
  entries: readonly Entry[],
  { at }: Take,
  now: number,
  spec: LimitSpec,
): { least: boolean; most: boolean } {
  const windowUs = spec.windowMs * 1000
  const both = (is: boolean): { least: boolean; most: boolean } => ({ least: is, most: is })
  switch (spec.kind) {
    case 'coarse':
      // Units of one slot come back with the last of them: up to a slot late, never early.
      return { least: at + windowUs > now, most: at + windowUs + slotMsOf(spec.windowMs) * 1000 > now }
    case 'window':
      return both(ageInWindows(at, now, spec) <= 1)
    case 'hour':
    case 'month':
      return both(at >= calendarStart(spec.kind, now))
    case 'fixed': {
      const { opened } = openWindow(entries, now, windowUs)
      return both(opened !== undefined && at >= opened)
    }
    default:
      return both(at + windowUs > now)
  }
}

/** Windows of this length begin at its multiples. */
function ageInWindows(at: number, now: number, { windowMs }: LimitSpec): number {
  const windowUs = windowMs * 1000
  return Math.floor(now / windowUs) - Math.floor(at / windowUs)
}

/** A fixed window opens with the first units of a counter that has none, and closes one length later. */
function openWindow(
  entries: readonly Entry[],
  now: number,
  windowUs: number,
): { opened: number | undefined; count: number } {
  let opened: number | undefined
  let count = 0
  const close = (at: number): void => {
    if (opened !== undefined && (at - opened >= windowUs || count === 0)) {
      opened = undefined
      count = 0
    }
  }
  const inWindow = new Set<number>()
  for (const entry of entries) {
    if (entry.at > now) break
    close(entry.at)
    if (opened === undefined) inWindow.clear()
    if (entry.what === 'take') {
      opened ??= entry.at
      count += entry.units
      inWindow.add(entry.id)
    } else if (inWindow.has(entry.id)) count -= entry.units
  }
  close(now)
  return { opened, count }
}
