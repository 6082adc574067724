// Computes the answers that the laws demand, from the history of admitted and refunded units. It does not know how
// Tollgate counts: a counter is a list of events, and every answer is computed from the list.
import { Counter, type Bounds } from './counter.js'
import { LateCounter } from './late-counter.js'
import { capacityOf, worstCaseOf } from './limits.js'
import { isFlight, linesOf, needOf, type Line } from './lines.js'
import { ReservedUnits } from './reserved-units.js'
import type { Ask, Plans, Schedule, Who } from './schedule.js'
import { SlotRows } from './slot-rows.js'

/** A request that took units. */
export interface Charge {
  readonly id: number
  readonly ask: Ask
  readonly lines: readonly Line[]
  readonly at: number
  readonly units: number
  /** The keys of which it took a slot. */
  readonly slots: readonly string[]
  /** Whether a lease served it. */
  readonly isLeased: boolean
}

/** Units that a request reserves. */
export interface Reserved {
  readonly id: number
  readonly ask: Ask
  readonly lines: readonly Line[]
  readonly from: number
  readonly to: number
}

interface Taking {
  /** Default: the limits of the present plans. */
  readonly lines?: readonly Line[]
  readonly at: number
  readonly units: number
  readonly isRace?: boolean
  readonly isLeased?: boolean
}

/** The longest lease of a schedule, in µs. No lease is longer than the shortest window. */
export const LONGEST_LEASE_US = 500_000

export class Oracle {
  readonly #schedule: Schedule
  readonly #counters = new Map<string, Counter | LateCounter>()
  readonly #rows = new Map<string, SlotRows>()
  readonly #reserved = new Map<string, ReservedUnits>()
  /** By subject: the keys of its counters. */
  readonly #owned = new Map<string, Set<string>>()
  #plans: Plans
  #lines = new WeakMap<Ask, readonly Line[]>()
  #ids = 0
  /** Reservations whose subject was reset. */
  readonly #forgotten = new Set<number>()
  /** By subject: its longest lease, and its last reset. */
  readonly #leaseUs = new Map<string, number>()
  readonly #resets = new Map<string, { readonly at: number; readonly process: number }>()
  /** Whether units that nobody has used may be on lease: then nothing is surely left. */
  isLeasing = false

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    this.#plans = schedule.versions[0] as Plans
  }

  setPlans(plans: Plans): void {
    this.#plans = plans
    this.#lines = new WeakMap()
  }

  /** The limits of a request, in the order in which its decision lists them. */
  linesOf(ask: Ask): readonly Line[] {
    const known = this.#lines.get(ask)
    if (known) return known
    const lines = linesOf(ask, this.#plans, this.#schedule)
    this.#lines.set(ask, lines)
    return lines
  }

  /** Units left in a limit at `now`, in µs. */
  room(line: Line, now: number): Bounds {
    const { least, most } = this.spare(line, now)
    return { least: this.isLeasing ? 0 : least, most }
  }

  /** The same as if nothing was on lease. */
  spare({ key, spec, asker }: Line, now: number): Bounds {
    const capacity = capacityOf(spec)
    if (isFlight(spec)) {
      const { least, most } = this.#rows.get(key)?.held(now, asker) ?? { least: 0, most: 0 }
      return { least: Math.max(capacity - most, 0), most: Math.max(capacity - least, 0) }
    }
    const { least, most } = this.#counters.get(key)?.room(spec, now) ?? { least: capacity, most: capacity }
    const held = this.#reserved.get(key)?.held(now) ?? { least: 0, most: 0 }
    return { least: Math.max(least - held.most, 0), most: Math.max(most - held.least, 0) }
  }

  /** Whether the counter has units that were taken under another quota: the plan has changed. */
  hasMoved({ key, spec }: Line): boolean {
    const quotas = (isFlight(spec) ? this.#rows : this.#counters).get(key)?.quotas
    return quotas !== undefined && (quotas.size > 1 || (quotas.size === 1 && !quotas.has(spec.quota)))
  }

  /** Whether `cost` units fit into every limit: surely, and possibly. */
  fits(lines: readonly Line[], cost: number, now: number): { surely: boolean; possibly: boolean } {
    const rooms = lines.map((line) => ({ ...this.room(line, now), need: needOf(line, cost) }))
    return {
      surely: rooms.every(({ least, need }) => least >= need),
      possibly: rooms.every(({ most, need }) => most >= need),
    }
  }

  /** Enters the units of an admitted request. `isRace`: other requests ran at the same time, in an unknown order. */
  take(ask: Ask, taking: Taking): Charge {
    const { lines = this.linesOf(ask), at, units, isRace = false, isLeased = false } = taking
    const id = (this.#ids += 1)
    const slots = lines.filter(({ spec }) => isFlight(spec))
    for (const line of slots) this.#takeSlot(line, ask, at)
    for (const line of lines) {
      if (isFlight(line.spec)) continue
      const counter = this.#counterOf(line, ask)
      counter.worst = Math.max(counter.worst, worstCaseOf(line.spec))
      counter.capacity = Math.max(counter.capacity, capacityOf(line.spec))
      counter.quotas.add(line.spec.quota)
      const late = isLeased && { upTo: at + leaseUsOf(line, lines), isSure: !this.#isOnTop(line, ask, at) }
      counter.take({ id, units, at, isRace, ...late })
    }
    return { id, ask, lines, at, units, slots: slots.map(({ key }) => key), isLeased }
  }

  /** Notes what a request asks of, since a process may lease that even if the request is denied. */
  watch(ask: Ask): void {
    const lines = this.linesOf(ask)
    for (const line of lines) {
      this.#counterOf(line, ask)
      const name = nameOf(ask.who[line.owner] as Who)
      this.#leaseUs.set(name, Math.max(this.#leaseUs.get(name) ?? 0, leaseUsOf(line, lines)))
    }
  }

  /** The longest lease that a subject can have had, in µs. */
  leaseUs(name: string): number {
    return this.#leaseUs.get(name) ?? LONGEST_LEASE_US
  }

  /** Enters units on lease that nobody used: they count when their lease ends, at `upTo` at the latest. */
  lost(name: string, units: number, upTo: number): void {
    const at = Math.max(upTo - 3 * this.leaseUs(name), 0)
    for (const key of this.#owned.get(name) ?? []) {
      const id = (this.#ids += 1)
      this.#counters.get(key)?.take({ id, at, upTo, units, isSure: false })
    }
  }

  reserve(ask: Ask, at: number, lengthUs: number): Reserved {
    const id = (this.#ids += 1)
    const lines = this.linesOf(ask)
    const [from, to] = [at + lengthUs, at + lengthUs + Math.max(lengthUs / 64, 1000) + 1000]
    for (const { key, owner } of lines) {
      const units = this.#reserved.get(key) ?? new ReservedUnits()
      this.#reserved.set(key, units)
      units.hold(id, { units: ask.cost, from, to })
      this.#own(key, ask.who[owner] as Who)
    }
    return { id, ask, lines, from, to }
  }

  /** Whether a reservation holds its units; undefined: one that was denied. */
  stateOf(reserved: Reserved | undefined, now: number): 'held' | 'over' | 'unknown' {
    if (!reserved || now >= reserved.to || this.#forgotten.has(reserved.id)) return 'over'
    return now < reserved.from ? 'held' : 'unknown'
  }

  endReservation(reserved: Reserved | undefined): void {
    for (const { key } of reserved?.lines ?? []) this.#reserved.get(key)?.end((reserved as Reserved).id)
  }

  /** Whether units of a limit may be reserved, or on lease: then it tells upper bounds of times. */
  hasBeside({ key }: Line, now: number): boolean {
    return this.isLeasing || (this.#reserved.get(key)?.held(now).most ?? 0) > 0
  }

  /** Gives the slots of a request back. */
  release({ ask, slots }: Charge): void {
    for (const key of slots) this.#rows.get(key)?.release(ask.process ?? 0)
  }

  /** By limit: how many units a refund of `units` gives back at the time `at`. Of a lease, which may have ended, maybe none. */
  refundable({ id, lines, isLeased }: Charge, units: number, at: number): Bounds[] {
    return lines.map(({ key }) => {
      const { least, most } = this.#counters.get(key)?.given(id, units, at) ?? { least: 0, most: 0 }
      return { least: isLeased ? 0 : least, most }
    })
  }

  /** @param isRace whether requests ran at the same time, so that the order is unknown */
  give({ id, lines, isLeased }: Charge, units: number, at: number, isRace = false): void {
    // Of several keys on lease, one may be told and the other not.
    const isVague = isLeased && new Set(lines.map(({ part }) => part)).size > 1
    for (const { key } of lines) this.#counters.get(key)?.give({ id, units, at, isRace, isVague })
  }

  /** Notes a request denied in several steps: some of its limits may have taken its units and given them back. */
  stir(lines: readonly Line[], at: number): void {
    for (const { key } of lines) {
      const counter = this.#counters.get(key)
      if (counter instanceof Counter) counter.stir(at)
    }
  }

  /** Forgets all units of a subject. The process that resets tells of its requests in flight again. */
  reset(who: Who, at: number, process: number): void {
    this.#resets.set(nameOf(who), { at, process })
    for (const key of this.#owned.get(nameOf(who)) ?? []) {
      this.#counters.delete(key)
      this.#rows.get(key)?.forget(process, at)
      for (const id of this.#reserved.get(key)?.ids ?? []) this.#forgotten.add(id)
      this.#reserved.delete(key)
    }
  }

  /** Laws 1 and 3: units of a limit that surely count in the true window that ends at `now`, and at once, and the most that may. */
  inForce({ key, asker }: Line, now: number): { window: [number, number]; atOnce: [number, number] } {
    const rows = this.#rows.get(key)
    if (rows) {
      const running: [number, number] = [rows.held(now, asker).least, Math.max(...rows.quotas)]
      return { window: running, atOnce: running }
    }
    const counter = this.#counters.get(key)
    if (!counter) return { window: [0, 0], atOnce: [0, 0] }
    return {
      window: [counter.inForce(now), counter.worst],
      atOnce: [counter.used(now), counter.capacity],
    }
  }

  /** After a reset by another process, what this one has on lease may come on top. */
  #isOnTop({ owner }: Line, ask: Ask, at: number): boolean {
    const reset = this.#resets.get(nameOf(ask.who[owner] as Who))
    return reset !== undefined && reset.process !== ask.process && at < reset.at + LONGEST_LEASE_US
  }

  #counterOf({ key, spec, owner }: Line, ask: Ask): Counter | LateCounter {
    const known = this.#counters.get(key)
    if (known) return known
    const made = this.#schedule.leases ? new LateCounter(spec) : new Counter(spec)
    this.#counters.set(key, made)
    this.#own(key, ask.who[owner] as Who)
    return made
  }

  #takeSlot({ key, spec, owner }: Line, ask: Ask, at: number): void {
    const rows = this.#rows.get(key) ?? new SlotRows()
    this.#rows.set(key, rows)
    rows.quotas.add(spec.quota)
    rows.take(ask.process ?? 0, at)
    this.#own(key, ask.who[owner] as Who)
  }

  #own(key: string, who: Who): void {
    const name = nameOf(who)
    this.#owned.set(name, (this.#owned.get(name) ?? new Set()).add(key))
  }
}

export function nameOf({ kind, id }: Who): string {
  return JSON.stringify([kind, id])
}

/** The longest lease of a limit, in µs: all limits of its key are leased together. */
function leaseUsOf({ part }: Line, lines: readonly Line[]): number {
  const shortestMs = Math.min(...lines.filter((line) => line.part === part).map(({ spec }) => spec.windowMs))
  return Math.floor(Math.min(LONGEST_LEASE_US, shortestMs * 1000))
}
