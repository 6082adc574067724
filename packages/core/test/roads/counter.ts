// One counter of the oracle, as a list of events: units taken and given back. Every answer is computed from the list.
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
  /** The most units that can have gone back. */
  readonly gave: number
  /** Whether it ran at the same time as requests, so that the order is unknown. */
  readonly isRace: boolean
}

/** Events are kept in the order of their times. */
type Entry = Take | Give

/** A range of units. Both ends are equal where the laws allow one value only. */
export interface Bounds {
  readonly least: number
  readonly most: number
}

/** Units that a request takes, at a time in µs. */
export interface Taken {
  readonly id: number
  readonly units: number
  readonly at: number
  /** Whether other requests ran at the same time, so that the order is unknown. */
  readonly isRace?: boolean
  /** The latest time that the limit may count them at. Default: `at`, as what the store decided. */
  readonly upTo?: number
  /** False: they may never have counted, such as units that were lost. Default: true. */
  readonly isSure?: boolean
}

/** Units that go back. */
export interface Given extends Pick<Taken, 'id' | 'units' | 'at' | 'isRace'> {
  /** Whether it is not known if they went back to this counter, or to another only. */
  readonly isVague?: boolean
}

export class Counter {
  readonly spec: LimitSpec
  /** Quotas of the limits that took units from this counter. */
  readonly quotas = new Set<number>()
  /** The most units in a true window by law 1, of all limits of this counter. */
  worst = 0
  /** The most units at once, of all limits of this counter. */
  capacity = 0
  #entries: Entry[] = []
  readonly #takes = new Map<number, Take>()
  readonly #bucket: Bucket | undefined

  constructor(spec: LimitSpec) {
    this.spec = spec
    this.#bucket = spec.kind === 'bucket' ? new Bucket(spec) : undefined
  }

  take({ id, units, at, isRace = false }: Taken): void {
    this.#prune(at)
    const take: Take = { what: 'take', id, at, units, gives: [] }
    this.#takes.set(id, take)
    this.#entries.push(take)
    this.#bucket?.take(id, units, at, isRace)
  }

  give({ id, units, at, isRace = false }: Given): void {
    const take = this.#takes.get(id)
    if (!take) return
    const give: Give = { what: 'give', take, at, units, gave: this.given(id, units, at).most, isRace }
    take.gives.push(give)
    this.#entries.push(give)
    this.#bucket?.give(id, units, at)
  }

  /** Notes that units were taken and went back, because another limit denied the request. */
  stir(at: number): void {
    this.#bucket?.stir(at)
  }

  /** Units left at `now` in a limit that uses this counter. */
  room(spec: LimitSpec, now: number): Bounds {
    if (this.#bucket) return roomIn(this.#bucket, spec, now)
    const used = usedOf(this.#entries, now, spec)
    const capacity = capacityOf(spec)
    return { least: Math.max(capacity - used.most, 0), most: Math.max(capacity - used.least, 0) }
  }

  /** Units that surely count at `now`. */
  used(now: number): number {
    if (!this.#bucket) return usedOf(this.#entries, now, this.spec).least
    const { unit, low, tolerance } = this.#bucket.at(now)
    return Math.floor(Math.max(low - tolerance, 0) / unit)
  }

  /** How many units a refund of `units` at the time `at` gives back to the request `id`. */
  given(id: number, units: number, at: number): Bounds {
    if (this.#bucket) return this.#bucket.left(id, units, at)
    const take = this.#takes.get(id)
    if (!take) return { least: 0, most: 0 }
    const counts = countsAt(this.#entries, take, at, this.spec)
    return { least: counts.least ? units : 0, most: counts.most ? units : 0 }
  }

  /** Law 1: units that count in the true window that ends at `now`. Units count until they are given back. */
  inForce(now: number): number {
    const since = now - lawWindowMs(this.spec) * 1000
    let units = 0
    for (const entry of this.#entries) {
      if (entry.at <= since) continue
      if (entry.what === 'take') units += entry.units
      // Units from before this window do not count in it, so giving them back lowers nothing. A bucket has one level
      // for all units, so there it does.
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

/** Units used, for every algorithm except the bucket. */
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

/** Units of a request that were not given back. */
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

/** Whether the units of a request still count at `now`: surely (`least`), and possibly (`most`). */
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
      // Units of one slot come back together, when the last of them does: up to one slot late, never early.
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

/** How many windows ago `at` was. Windows begin at multiples of their length. */
function ageInWindows(at: number, now: number, { windowMs }: LimitSpec): number {
  const windowUs = windowMs * 1000
  return Math.floor(now / windowUs) - Math.floor(at / windowUs)
}

interface OpenWindow {
  readonly opened: number | undefined
  readonly count: number
}

/**
 * The open window in both possible orders: refunds before the requests at the same time, and after them. The order
 * matters, because a window that a refund empties closes.
 */
function openWindows(entries: readonly Entry[], now: number, windowUs: number): OpenWindow[] {
  const isLate = (entry: Entry): boolean => entry.what === 'give' && entry.isRace
  const first = openWindow(entries, now, windowUs)
  if (!entries.some(isLate)) return [first]
  const lateLast = entries.toSorted((a, b) => a.at - b.at || Number(isLate(a)) - Number(isLate(b)))
  return [first, openWindow(lateLast, now, windowUs)]
}

/** A fixed window opens with the first units of an empty counter. It closes one length later, or when it is empty. */
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
