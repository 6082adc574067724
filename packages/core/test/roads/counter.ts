// One counter as a list of events. It stores no results: each answer is computed again from the list.
import { Bucket } from './bucket.js'
import { calendarStart, capacityOf, lawWindowMs, slotMsOf, type LimitSpec } from './limits.js'

/** Times in µs. */
interface Take {
  readonly what: 'take'
  readonly id: number
  readonly at: number
  readonly units: number
  readonly gives: Give[]
}

interface Give {
  readonly what: 'give'
  readonly take: Take
  readonly at: number
  readonly units: number
  /** The most of the units that could still be held. */
  readonly gave: number
  /** Whether it came together with requests, so that the order is not known. */
  readonly isRace: boolean
}

/** Sorted by the clock. */
type Entry = Take | Give

/** At least and at most so many units; both are equal where the laws leave no choice. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

export class Counter {
  readonly spec: LimitSpec
  /** The quotas of all limits that took units here. */
  readonly quotas = new Set<number>()
  /** The most that any of its limits lets through under law 1. */
  worst = 0
  #entries: Entry[] = []
  readonly #takes = new Map<number, Take>()
  readonly #bucket: Bucket | undefined

  constructor(spec: LimitSpec) {
    this.spec = spec
    this.#bucket = spec.kind === 'bucket' ? new Bucket(spec) : undefined
  }

  /** @param isRace whether it came together with others, in an unknown order */
  take(id: number, units: number, at: number, isRace: boolean): void {
    this.#prune(at)
    const take: Take = { what: 'take', id, at, units, gives: [] }
    this.#takes.set(id, take)
    this.#entries.push(take)
    this.#bucket?.take(id, units, at, isRace)
  }

  give(id: number, units: number, at: number, isRace: boolean): void {
    const take = this.#takes.get(id)
    if (!take) return
    const give: Give = { what: 'give', take, at, units, gave: this.given(id, units, at).most, isRace }
    take.gives.push(give)
    this.#entries.push(give)
    this.#bucket?.give(id, units, at)
  }

  /** Records that units were taken and went back at once. */
  stir(at: number): void {
    this.#bucket?.stir(at)
  }

  /** Units left of a limit of this counter, at `now`. */
  room(spec: LimitSpec, now: number): Bounds {
    if (this.#bucket) return roomIn(this.#bucket, spec, now)
    const used = usedOf(this.#entries, now, spec)
    const capacity = capacityOf(spec)
    return { least: Math.max(capacity - used.most, 0), most: Math.max(capacity - used.least, 0) }
  }

  /** How many units of a request a refund of `units` gives back, at `at`. */
  given(id: number, units: number, at: number): Bounds {
    if (this.#bucket) return this.#bucket.left(id, units, at)
    const take = this.#takes.get(id)
    if (!take) return { least: 0, most: 0 }
    const counts = countsAt(this.#entries, take, at, this.spec)
    return { least: counts.least ? units : 0, most: counts.most ? units : 0 }
  }

  /** Law 1: units in force in the true window that ends now. Refunded units are in force until their refund. */
  inForce(now: number): number {
    const since = now - lawWindowMs(this.spec) * 1000
    let units = 0
    for (const entry of this.#entries) {
      if (entry.at <= since) continue
      if (entry.what === 'take') units += entry.units
      // A refund in this window of units from before it takes nothing off the window, but it does off a bucket's level.
      else if (entry.take.at > since || this.#bucket) units -= entry.gave
    }
    return Math.floor(units + 1e-9)
  }

  /** Forgets all events once none of them can count any more. */
  #prune(now: number): void {
    const last = this.#entries.at(-1)
    const longestUs = (2 * this.spec.windowMs + slotMsOf(this.spec.windowMs)) * 1000
    if (last && last.at + longestUs < now) this.#entries = []
  }
}

function roomIn(bucket: Bucket, { burst }: LimitSpec, now: number): Bounds {
  const { unit, low, high, tolerance } = bucket.at(now)
  const left = (level: number): number => Math.max(Math.floor((burst * unit - level) / unit), 0)
  return { least: left(high + tolerance), most: left(Math.max(low - tolerance, 0)) }
}

/** Units used, for all algorithms but the bucket. */
function usedOf(entries: readonly Entry[], now: number, spec: LimitSpec): Bounds {
  if (spec.kind === 'fixed') {
    const counts = openWindows(entries, now, spec.windowMs * 1000).map(({ count }) => count)
    return { least: Math.min(...counts), most: Math.max(...counts) }
  }
  let least = 0
  let most = 0
  let previous = 0
  for (const entry of entries) {
    if (entry.what !== 'take') continue
    const counts = countsAt(entries, entry, now, spec)
    if (!counts.most) continue
    const held = heldOf(entries, entry, spec)
    if (spec.kind === 'window' && ageInWindows(entry.at, now, spec) === 1) previous += held.most
    else {
      if (counts.least) least += held.least
      most += held.most
    }
  }
  if (spec.kind !== 'window') return { least, most }
  const windowUs = spec.windowMs * 1000
  const used = least + Math.ceil((previous * (windowUs - (now % windowUs))) / windowUs)
  return { least: used, most: used }
}

/** How many of a request's units have not been given back. */
function heldOf(entries: readonly Entry[], take: Take, spec: LimitSpec): Bounds {
  let least = take.units
  let most = take.units
  for (const give of take.gives) {
    const counts = countsAt(entries, take, give.at, spec)
    if (counts.most) least -= give.units
    if (counts.least) most -= give.units
  }
  return { least, most }
}

/** Whether units still count at a time: surely (`least`), and possibly (`most`). */
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
      // Units of one slot come back with the last of them: up to one slot late, never early.
      return { least: at + windowUs > now, most: at + windowUs + slotMsOf(spec.windowMs) * 1000 > now }
    case 'window':
      return both(ageInWindows(at, now, spec) <= 1)
    case 'hour':
    case 'month':
      return both(at >= calendarStart(spec.kind, now))
    case 'fixed': {
      const counts = openWindows(entries, now, windowUs).map(
        ({ opened }) => opened !== undefined && at >= opened,
      )
      return { least: !counts.includes(false), most: counts.includes(true) }
    }
    default:
      return both(at + windowUs > now)
  }
}

/** How many windows ago: windows begin at multiples of their length. */
function ageInWindows(at: number, now: number, { windowMs }: LimitSpec): number {
  const windowUs = windowMs * 1000
  return Math.floor(now / windowUs) - Math.floor(at / windowUs)
}

interface OpenWindow {
  readonly opened: number | undefined
  readonly count: number
}

/** The possible windows, since a refund may have come before or after the requests it raced with, and may close one. */
function openWindows(entries: readonly Entry[], now: number, windowUs: number): OpenWindow[] {
  const isLate = (entry: Entry): boolean => entry.what === 'give' && entry.isRace
  const first = openWindow(entries, now, windowUs)
  if (!entries.some(isLate)) return [first]
  const lateLast = entries.toSorted((a, b) => a.at - b.at || Number(isLate(a)) - Number(isLate(b)))
  return [first, openWindow(lateLast, now, windowUs)]
}

/** A fixed window opens with the first units of a counter that has none, and closes one length later. */
function openWindow(entries: readonly Entry[], now: number, windowUs: number): OpenWindow {
  let opened: number | undefined
  let count = 0
  const close = (at: number): void => {
    if (opened !== undefined && (at - opened >= windowUs || count === 0)) {
      opened = undefined
      count = 0
    }
  }
  const inWindow = new Set<Take>()
  for (const entry of entries) {
    if (entry.at > now) break
    close(entry.at)
    if (opened === undefined) inWindow.clear()
    if (entry.what === 'take') {
      opened ??= entry.at
      count += entry.units
      inWindow.add(entry)
    } else if (inWindow.has(entry.take)) count -= entry.units
  }
  close(now)
  return { opened, count }
}
