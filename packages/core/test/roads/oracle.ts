// What the laws say of a history, from the ledger of what was admitted and given back. It knows nothing of how Tollgate
// counts: a counter is a list of events, and every answer is worked out anew from the list.
import { givenOf, roomOf, type Bounds, type Entry } from './counter.js'
import { counterName, lawWindowMs, worstCaseOf, type LimitSpec } from './limits.js'
import type { Ask, Plans, Schedule, Who } from './schedule.js'

/** One limit of a request: what it counts in, and whose it is. */
export interface Line {
  readonly key: string
  readonly spec: LimitSpec
  /** The subject, by its place in the request. */
  readonly owner: number
}

/** A request that took units. */
export interface Charge {
  readonly id: number
  readonly ask: Ask
  readonly lines: readonly Line[]
  readonly at: number
  readonly units: number
}

interface Counter {
  readonly entries: Entry[]
  /** The most that any of its limits lets through by law 1. */
  worst: number
  readonly spec: LimitSpec
  readonly owner: string
  /** Of the limits that units were taken of. */
  readonly quotas: Set<number>
}

export class Oracle {
  readonly #schedule: Schedule
  readonly #counters = new Map<string, Counter>()
  #plans: Plans
  #ids = 0

  constructor(schedule: Schedule) {
    this.#schedule = schedule
    this.#plans = schedule.versions[0] as Plans
  }

  setPlans(plans: Plans): void {
    this.#plans = plans
  }

  /** The limits of a request, in the order in which its decision tells them. */
  linesOf({ place, who }: Ask, plans: Plans = this.#plans): Line[] {
    const { own, stacked } = this.#schedule
    const suffix = { app: '', stacked: '', group: '*g', both: '*g', own: '*h' }[place]
    const lineOf = (one: Who, owner: number, spec: LimitSpec, at: string): Line => {
      return { key: JSON.stringify([one.kind, one.id, at, counterName(spec)]), spec, owner }
    }
    const lines = who.flatMap((one, owner) => {
      const specs = place === 'own' ? own : (plans[one.plan] as readonly LimitSpec[])
      return specs.map((spec) => lineOf(one, owner, spec, suffix))
    })
    if (place !== 'stacked' && place !== 'both') return lines
    return [...lines, ...stacked.map((spec) => lineOf(who[0] as Who, 0, spec, '!s'))]
  }

  /** What is left of a limit at a time. */
  room({ key, spec }: Line, now: number): Bounds {
    return roomOf(this.#counters.get(key)?.entries ?? [], now, spec)
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

  take(ask: Ask, lines: readonly Line[], at: number, units: number): Charge {
    const id = (this.#ids += 1)
    for (const line of lines) {
      const counter = this.#counterOf(line, ask)
      counter.worst = Math.max(counter.worst, worstCaseOf(line.spec))
      counter.quotas.add(line.spec.quota)
      counter.entries.push({ what: 'take', id, at, units })
    }
    return { id, ask, lines, at, units }
  }

  /** What a refund of so many units of a request gives back, of each limit. */
  refundable({ id, lines }: Charge, units: number, at: number): Bounds[] {
    return lines.map(({ key, spec }) =>
      givenOf(this.#counters.get(key)?.entries ?? [], { id, at, units }, spec),
    )
  }

  give({ id, lines }: Charge, units: number, at: number): void {
    for (const { key } of lines) this.#counters.get(key)?.entries.push({ what: 'give', id, at, units })
  }

  /** Everything of a subject is as new. */
  reset(who: Who): void {
    for (const [key, { owner }] of this.#counters) if (owner === ownerOf(who)) this.#counters.delete(key)
  }

  /**
   * Law 1, of a limit at a time that units were admitted: units in force in the true window that ends now, and the most
   * there may be. What was given back is in force until the moment that it was.
   */
  inForce({ key }: Line, now: number): { units: number; worst: number } {
    const counter = this.#counters.get(key)
    if (!counter) return { units: 0, worst: 0 }
    const { entries, spec, worst } = counter
    const since = now - lawWindowMs(spec) * 1000
    let units = 0
    entries.forEach((entry, i) => {
      if (entry.what === 'take') units += entry.at > since ? entry.units : 0
      else units -= this.#gaveOf(entries.slice(0, i), entry, spec, since)
    })
    return { units: Math.floor(units + 1e-9), worst }
  }

  #gaveOf(before: readonly Entry[], entry: Entry, spec: LimitSpec, since: number): number {
    const take = before.find(({ what, id }) => what === 'take' && id === entry.id)
    // Units of before this window that went back in it are none of its units; a bucket's level has them all the same.
    if (!take || (take.at <= since && (spec.kind !== 'bucket' || entry.at <= since))) return 0
    return givenOf(before, entry, spec).most
  }

  #counterOf({ key, spec, owner }: Line, ask: Ask): Counter {
    const counter = this.#counters.get(key)
    if (counter) return counter
    const made = {
      entries: [],
      worst: 0,
      spec,
      owner: ownerOf(ask.who[owner] as Who),
      quotas: new Set<number>(),
    }
    this.#counters.set(key, made)
    return made
  }
}

function ownerOf({ kind, id }: Who): string {
  return JSON.stringify([kind, id])
}
