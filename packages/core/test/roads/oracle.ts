// What the laws say of a history, from the ledger of what was admitted and given back. It knows nothing of how Tollgate
// counts: a counter is a list of events, and every answer is worked out anew from the list.
import { Counter, type Bounds } from './counter.js'
import { capacityOf, worstCaseOf } from './limits.js'
import { linesOf, type Line } from './lines.js'
import type { Ask, Plans, Schedule, Who } from './schedule.js'

/** A request that took units. */
export interface Charge {
  readonly id: number
  readonly ask: Ask
  readonly lines: readonly Line[]
  readonly at: number
  readonly units: number
}

interface Taking {
  /** Left out: those of today's plans. */
  readonly lines?: readonly Line[]
  readonly at: number
  readonly units: number
  readonly isRace?: boolean
}

export class Oracle {
  readonly #schedule: Schedule
  readonly #counters = new Map<string, Counter>()
  /** The keys of each subject's counters. */
  readonly #owned = new Map<string, Set<string>>()
  #plans: Plans
  #lines = new WeakMap<Ask, readonly Line[]>()
  #ids = 0

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    this.#plans = schedule.versions[0] as Plans
  }

  setPlans(plans: Plans): void {
    this.#plans = plans
    this.#lines = new WeakMap()
  }

  /** The limits of a request, in the order in which its decision tells them. */
  linesOf(ask: Ask): readonly Line[] {
    const known = this.#lines.get(ask)
    if (known) return known
    const lines = linesOf(ask, this.#plans, this.#schedule)
    this.#lines.set(ask, lines)
    return lines
  }

  /** What is left of a limit at a time. */
  room({ key, spec }: Line, now: number): Bounds {
    const capacity = capacityOf(spec)
    return this.#counters.get(key)?.room(spec, now) ?? { least: capacity, most: capacity }
  }

  /** Whether units of another quota are in the counter: a plan has moved. */
  hasMoved({ key, spec }: Line): boolean {
    const quotas = this.#counters.get(key)?.quotas
    return quotas !== undefined && (quotas.size > 1 || (quotas.size === 1 && !quotas.has(spec.quota)))
  }

  /** Whether so many units fit into every limit: surely, and possibly. */
  fits(lines: readonly Line[], cost: number, now: number): { surely: boolean; possibly: boolean } {
    const rooms = lines.map((line) => this.room(line, now))
    return {
      surely: rooms.every(({ least }) => least >= cost),
      possibly: rooms.every(({ most }) => most >= cost),
    }
  }

  /** @param isRace with others, in an order that is not known */
  take(ask: Ask, { lines = this.linesOf(ask), at, units, isRace = false }: Taking): Charge {
    const id = (this.#ids += 1)
    for (const line of lines) {
      const counter = this.#counterOf(line, ask)
      counter.worst = Math.max(counter.worst, worstCaseOf(line.spec))
      counter.quotas.add(line.spec.quota)
      counter.take(id, units, at, isRace)
    }
    return { id, ask, lines, at, units }
  }

  /** What a refund of so many units of a request gives back, of each limit. */
  refundable({ id, lines }: Charge, units: number, at: number): Bounds[] {
    const nothing = { least: 0, most: 0 }
    return lines.map(({ key }) => this.#counters.get(key)?.given(id, units, at) ?? nothing)
  }

  /** @param isRace with requests of its moment */
  give({ id, lines }: Charge, units: number, at: number, isRace = false): void {
    for (const { key } of lines) this.#counters.get(key)?.give(id, units, at, isRace)
  }

  /** A request was denied in several steps: some of its limits may have taken its units, and given them back. */
  stir(lines: readonly Line[], at: number): void {
    for (const { key } of lines) this.#counters.get(key)?.stir(at)
  }

  /** Everything of a subject is as new. */
  reset(who: Who): void {
    for (const key of this.#owned.get(nameOf(who)) ?? []) this.#counters.delete(key)
  }

  /** Law 1, of a limit at a time that units were admitted: units in force in its true window, and the most there may be. */
  inForce({ key }: Line, now: number): { units: number; worst: number } {
    const counter = this.#counters.get(key)
    return counter ? { units: counter.inForce(now), worst: counter.worst } : { units: 0, worst: 0 }
  }

  #counterOf({ key, spec, owner }: Line, ask: Ask): Counter {
    const known = this.#counters.get(key)
    if (known) return known
    const made = new Counter(spec)
    this.#counters.set(key, made)
    const name = nameOf(ask.who[owner] as Who)
    this.#owned.set(name, (this.#owned.get(name) ?? new Set()).add(key))
    return made
  }
}

function nameOf({ kind, id }: Who): string {
  return JSON.stringify([kind, id])
}
