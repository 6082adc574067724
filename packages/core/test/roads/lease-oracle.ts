// What the laws allow when processes lease, from the decisions and events that users see. Where it depends on what only
// the processes and the store know, there is a range.
import type { Bounds } from './counter.js'
import { LeaseCounter } from './lease-counter.js'
import type { LeaseSchedule, ProcessAsk } from './lease-schedule.js'
import { capacityOf, worstCaseOf } from './limits.js'
import { linesOf, type Line } from './lines.js'
import type { Ask, Plans, Who } from './schedule.js'

/** The longest lease of a schedule, in µs. No lease is longer than the shortest window. */
export const LONGEST_LEASE_US = 500_000
/** Units of a lease whose answer was lost: their number is not known. */
export const UNKNOWN_UNITS = 1e9

/** A request that took units. */
export interface LeaseCharge {
  readonly id: number
  readonly ask: ProcessAsk
  readonly lines: readonly Line[]
  readonly isLeased: boolean
}

interface Taking {
  readonly at: number
  readonly units: number
  readonly isLeased: boolean
  /** Default: the limits of the present plans. */
  readonly lines?: readonly Line[]
}

interface Reset {
  readonly at: number
  readonly process: number
}

export class LeaseOracle {
  readonly #schedule: LeaseSchedule
  readonly #counters = new Map<string, LeaseCounter>()
  /** By subject: the keys of its counters, its last reset, and the longest of its leases. */
  readonly #owned = new Map<string, Set<string>>()
  readonly #resets = new Map<string, Reset>()
  readonly #lengths = new Map<string, number>()
  #plans: Plans
  #lines = new WeakMap<Ask, readonly Line[]>()
  #ids = 0

  constructor(schedule: LeaseSchedule) {
    this.#schedule = schedule
    this.#plans = schedule.versions[0] as Plans
  }

  setPlans(plans: Plans): void {
    this.#plans = plans
    this.#lines = new WeakMap()
  }

  linesOf(ask: Ask): readonly Line[] {
    const known = this.#lines.get(ask)
    if (known) return known
    const lines = linesOf(ask, this.#plans, this.#schedule)
    this.#lines.set(ask, lines)
    return lines
  }

  /** Units left at `now`, if no unused unit is on lease. While some are, no more than `most` are left. */
  room({ key, spec }: Line, now: number): Bounds {
    const capacity = capacityOf(spec)
    const used = this.#counters.get(key)?.used(now) ?? { least: 0, most: 0 }
    const left = (units: number): number => Math.max(Math.floor(capacity - units + 1e-6), 0)
    return { least: left(used.most), most: left(used.least) }
  }

  hasMoved({ key, spec }: Line): boolean {
    const quotas = this.#counters.get(key)?.quotas
    return quotas !== undefined && (quotas.size > 1 || (quotas.size === 1 && !quotas.has(spec.quota)))
  }

  /** Notes what a request asks of, since a process may lease that even if the request is denied. */
  watch(ask: ProcessAsk): void {
    const lines = this.linesOf(ask)
    for (const line of lines) {
      this.#counterOf(line, ask)
      const owner = nameOf(ask.who[line.owner] as Who)
      this.#lengths.set(owner, Math.max(this.#lengths.get(owner) ?? 0, lengthOf(line, lines)))
    }
  }

  take(ask: ProcessAsk, { at, units, isLeased, lines = this.linesOf(ask) }: Taking): LeaseCharge {
    const id = (this.#ids += 1)
    for (const line of lines) {
      const counter = this.#counterOf(line, ask)
      counter.quotas.add(line.spec.quota)
      counter.worst = Math.max(counter.worst, worstCaseOf(line.spec))
      counter.capacity = Math.max(counter.capacity, capacityOf(line.spec))
      const owner = nameOf(ask.who[line.owner] as Who)
      const isSure = !(isLeased && this.#isOnTop(owner, ask.process, at))
      counter.take({ id, at, upTo: isLeased ? at + lengthOf(line, lines) : at, units, isSure })
    }
    return { id, ask, lines, isLeased }
  }

  /** By limit: whether the units of a request still count, surely and possibly. */
  counts({ id, lines }: LeaseCharge, now: number): { least: boolean; most: boolean }[] {
    return lines.map(({ key }) => this.#counters.get(key)?.counts(id, now) ?? { least: false, most: false })
  }

  /** Enters units that went back, or may have: of several keys on lease, one may be told and the other not. */
  give(charge: LeaseCharge, units: number, now: number): void {
    const counts = this.counts(charge, now)
    const isJoint = charge.isLeased && new Set(charge.lines.map(({ part }) => part)).size > 1
    charge.lines.forEach(({ key }, i) => {
      const least = counts[i]?.least && !isJoint ? units : 0
      this.#counters.get(key)?.give(charge.id, { at: now, least, most: counts[i]?.most ? units : 0 })
    })
  }

  /** Enters units on lease that nobody used: they count when their lease ends, at `upTo` at the latest. */
  lost(name: string, units: number, upTo: number): void {
    const at = Math.max(upTo - 3 * this.lengthOf(name), 0)
    for (const key of this.#owned.get(name) ?? []) {
      const id = (this.#ids += 1)
      this.#counters.get(key)?.take({ id, at, upTo, units, isSure: false })
    }
  }

  /** The longest lease that the subject can have had, in µs. */
  lengthOf(name: string): number {
    return this.#lengths.get(name) ?? LONGEST_LEASE_US
  }

  /** Forgets all units of a subject. */
  reset(who: Who, process: number, now: number): void {
    const name = nameOf(who)
    for (const key of this.#owned.get(name) ?? []) this.#counters.delete(key)
    this.#owned.delete(name)
    this.#resets.set(name, { at: now, process })
  }

  /** Law 1: units that surely were used in the true window that ends at `now`, and the most that may be. */
  inForce({ key }: Line, now: number): { units: number; worst: number; used: number; capacity: number } {
    const counter = this.#counters.get(key)
    if (!counter) return { units: 0, worst: 0, used: 0, capacity: 0 }
    const { worst, capacity } = counter
    return { units: counter.inForce(now), worst, used: Math.floor(counter.used(now).least + 1e-6), capacity }
  }

  /** After a reset by another process, what this one has on lease may come on top. */
  #isOnTop(owner: string, process: number, at: number): boolean {
    const reset = this.#resets.get(owner)
    return reset !== undefined && reset.process !== process && at < reset.at + LONGEST_LEASE_US
  }

  #counterOf({ key, spec, owner }: Line, ask: Ask): LeaseCounter {
    const known = this.#counters.get(key)
    if (known) return known
    const made = new LeaseCounter(spec)
    this.#counters.set(key, made)
    const name = nameOf(ask.who[owner] as Who)
    this.#owned.set(name, (this.#owned.get(name) ?? new Set()).add(key))
    return made
  }
}

export function nameOf({ kind, id }: Pick<Who, 'kind' | 'id'>): string {
  return JSON.stringify([kind, id])
}

/** The longest lease of a limit, in µs: all limits of its key are leased together. */
function lengthOf({ part }: Line, lines: readonly Line[]): number {
  let length = LONGEST_LEASE_US
  for (const { spec, part: other } of lines) {
    if (other !== part) continue
    length = Math.min(length, spec.windowMs * 1000)
  }
  return Math.floor(length)
}
