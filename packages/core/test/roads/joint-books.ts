// What the laws allow where everything meets on one subject, from what the callers of both processes see. Where it depends on
// what only the processes and the store know, there is a range.
import type { Bounds } from './counter.js'
import { JointLeases } from './joint-leases.js'
import type { JointAsk, JointSchedule } from './joint-schedule.js'
import { LateCounter } from './late-counter.js'
import { capacityOf, worstCaseOf } from './limits.js'
import { isFlight, linesOf, type Line } from './lines.js'
import type { Plans } from './schedule.js'
import type { LeaseChange } from '../../src/features/leases/lease-reporter.js'

/** The most that a place may be used after its time, in µs. */
export const SLACK_US = 100_000
const UNKNOWN_UNITS = 1e9

/** A request that holds slots. */
export interface Flight {
  readonly ask: JointAsk
  readonly lines: readonly Line[]
  readonly sentUs: number
  /** Whether it surely runs: what waits in line does not, and a reservation may have been forgotten. */
  readonly isSure: boolean
}

/** A request that took units. */
export interface JointCharge {
  readonly id: number
  readonly ask: JointAsk
  readonly lines: readonly Line[]
  readonly isStores: boolean
  /** By how much the store's clock had gone back. */
  readonly backUs: number
}

export interface JointReserved {
  readonly id: number
  readonly ask: JointAsk
  readonly lines: readonly Line[]
  /** Until then it surely holds its units, in µs. */
  readonly until: number
  /** From then on it surely holds none, in µs of the store's clock. */
  readonly to: number
}

export class JointBooks {
  readonly #plans: Plans
  readonly #leases: JointLeases
  /** The names of plans that wait. */
  readonly #waiting: ReadonlySet<string>
  readonly #counters = new Map<string, LateCounter>()
  readonly #reserved = new Set<JointReserved>()
  readonly #lines = new WeakMap<JointAsk, readonly Line[]>()
  /** By key and process: slots that were given back since all were last looked at. */
  readonly #untold = new Map<string, number>()
  /** When a place of one that waits may last have been left unused, in µs. */
  readonly #unusedAt = new WeakMap<Flight, number>()
  /** Holds slots, or waits for a place. */
  readonly flights = new Set<Flight>()
  readonly waiters = new Set<Flight>()
  nowUs: number
  /** By how much the store's clock has gone back. */
  backUs = 0
  #latestUs: number
  #ids = 0

  constructor(schedule: JointSchedule, nowUs: number) {
    this.nowUs = this.#latestUs = nowUs
    this.#plans = Object.fromEntries(
      Object.entries(schedule.plans).map(([name, { limits }]) => [name, limits]),
    )
    this.#waiting = new Set(Object.keys(schedule.plans).filter((name) => schedule.plans[name]?.wait))
    this.#leases = new JointLeases((schedule.plans['leased']?.lease?.maxMs ?? 0) * 1000)
  }

  pass(us: number, backUs: number): void {
    this.nowUs += us
    this.backUs += backUs
    this.#latestUs = Math.max(this.#latestUs, this.storeUs)
    if (backUs > 0) for (const counter of this.#counters.values()) counter.lateUs = this.backUs
  }

  get storeUs(): number {
    return this.nowUs - this.backUs
  }

  linesOf(ask: JointAsk): readonly Line[] {
    const known = this.#lines.get(ask)
    if (known) return known
    const lines = linesOf(ask, this.#plans, { own: [], stacked: [] })
    this.#lines.set(ask, lines)
    return lines
  }

  /** Units that count now, and that reservations hold. */
  used({ key, spec }: Line): Bounds {
    if (spec.kind === 'fixed' && this.#mayHaveOpened(key)) return { least: 0, most: Infinity }
    const used = this.#counters.get(key)?.bounds(this.nowUs) ?? { least: 0, most: 0 }
    let { least, most } = used
    for (const reserved of this.#reserved) {
      if (!reserved.lines.some((line) => line.key === key)) continue
      if (this.isHeld(reserved)) least += reserved.ask.cost
      if (!this.isOver(reserved)) most += reserved.ask.cost
    }
    return { least, most }
  }

  /** Whether a place may have ended unused, and so have opened a window, before its request asked again. */
  #mayHaveOpened(key: string): boolean {
    return [...this.waiters].some(({ sentUs, lines }) => {
      return sentUs < this.nowUs && lines.some((line) => line.key === key)
    })
  }

  /**
   * Notes that a process did not use a place of a subject, which may have been that of any of its requests in line: one that is
   * late waits on in another. If the place had ended, its units entered the limits. They opened a window, of a bucket those that
   * have drained do not go back, and after the clock went back they may not be found.
   *
   * @returns requests whose units may not all have gone back, and the limits that these entered
   */
  unused(process: number, subject: string): Pick<Flight, 'ask' | 'lines'>[] {
    const entered: Pick<Flight, 'ask' | 'lines'>[] = []
    for (const waiter of this.waiters) {
      const { ask, sentUs } = waiter
      const isMeant = ask.process === process && ask.who.some(({ id }) => id === subject)
      // A request has one place at a time, and none ends in the moment in which it is booked.
      if (!isMeant || Math.max(sentUs, this.#unusedAt.get(waiter) ?? 0) === this.nowUs) continue
      this.#unusedAt.set(waiter, this.nowUs)
      entered.push({ ask, lines: this.#enterUnused(waiter) })
    }
    return entered
  }

  #enterUnused({ ask, lines, sentUs }: Flight): Line[] {
    return lines.filter((line) => {
      const isFound = this.backUs === 0 && line.spec.kind !== 'fixed' && line.spec.kind !== 'bucket'
      if (isFlight(line.spec) || isFound) return false
      const [id, upTo] = [(this.#ids += 1), this.nowUs + SLACK_US]
      this.#counterOf(line).take({ id, at: sentUs, upTo, units: ask.cost, isSure: false })
      return true
    })
  }

  /** Units of those who wait in line. */
  booked({ key }: Line): number {
    let units = 0
    for (const { ask, lines } of this.waiters) {
      for (const line of lines) if (line.key === key && this.waits({ ask, line })) units += ask.cost
    }
    return units
  }

  /** The most units on lease that may deny a request of this process. */
  leased(subject: string, asker?: number): number {
    return this.#leases.most(subject, this.nowUs, asker)
  }

  /** Slots of a limit that are held: surely, and possibly, as `asker` may hear of it. */
  holding({ key }: Line, asker?: number): Bounds {
    let [least, most] = [0, 0]
    for (const { lines, isSure } of [...this.flights, ...this.waiters]) {
      if (!lines.some((line) => line.key === key)) continue
      if (isSure) least += 1
      most += 1
    }
    for (const [name, count] of this.#untold) {
      const [process, of] = JSON.parse(name) as [number, string]
      if (of === key && process !== asker) most += count
    }
    return { least, most }
  }

  /** Slots of requests that surely run, of limits that are no wider than this one. */
  running({ key, spec }: Line): number {
    let running = 0
    for (const { lines, isSure } of this.flights) {
      if (isSure && lines.some((line) => line.key === key && line.spec.quota <= spec.quota)) running += 1
    }
    return running
  }

  release(flight: Flight): void {
    this.flights.delete(flight)
    this.untold(flight)
  }

  /** Notes slots that go back, of which others hear a moment later. */
  untold({ ask, lines }: Flight): void {
    for (const { key, spec } of lines) {
      if (!isFlight(spec)) continue
      const name = JSON.stringify([ask.process, key])
      this.#untold.set(name, (this.#untold.get(name) ?? 0) + 1)
    }
  }

  /** All slots that went back were told. */
  told(): void {
    this.#untold.clear()
  }

  /** Whether a limit can wait: of a request that waits, the units of its other subjects are taken at once. */
  waits({ ask, line }: { ask: JointAsk; line: Line }): boolean {
    return this.#waiting.has(ask.who[line.owner]?.plan ?? '')
  }

  /** Enters what a request in line has taken of subjects that do not wait. It may be given back, and taken anew. */
  takeAtOnce(ask: JointAsk, dueUs: number): JointCharge {
    const id = (this.#ids += 1)
    const lines = this.linesOf(ask).filter((line) => !isFlight(line.spec) && !this.waits({ ask, line }))
    for (const line of lines) {
      this.#counterOf(line).take({ id, at: this.nowUs, upTo: dueUs, units: ask.cost, isSure: false })
    }
    return { id, ask, lines, isStores: false, backUs: this.backUs }
  }

  /** Enters units that are used now. What was on lease or in a place enters its limits some time later, or before. */
  take(ask: JointAsk, units: number, source: 'store' | 'lease' | 'place'): JointCharge {
    const id = (this.#ids += 1)
    const isTaken = (line: Line): boolean => source !== 'place' || this.waits({ ask, line })
    const lines = this.linesOf(ask).filter((line) => !isFlight(line.spec) && isTaken(line))
    const lateUs = { store: 0, lease: this.#leases.lengthUs, place: SLACK_US }[source]
    for (const line of lines) {
      const counter = this.#counterOf(line)
      counter.worst = Math.max(counter.worst, worstCaseOf(line.spec))
      const isEarly = source === 'place' && line.spec.kind === 'bucket'
      const at = this.nowUs - (isEarly ? SLACK_US : 0)
      counter.take({ id, at, upTo: this.nowUs + lateUs, units, isSure: true })
    }
    return { id, ask, lines, isStores: source === 'store', backUs: this.backUs }
  }

  /** By limit: how many of so many units of a request still count. */
  counting({ id, lines }: JointCharge, units: number): Bounds[] {
    return lines.map(({ key }) => {
      return this.#counters.get(key)?.given(id, units, this.nowUs) ?? { least: 0, most: 0 }
    })
  }

  /** Whether the store surely finds the units of a request: after its clock went back it may not, or find fewer. */
  isFound({ isStores, backUs }: JointCharge): boolean {
    return isStores && backUs === this.backUs
  }

  /** Enters units that went back: of several subjects, one may have had none. */
  give(charge: JointCharge, units: number): void {
    const isVague = !this.isFound(charge) || charge.ask.who.length > 1
    for (const { key } of charge.lines)
      this.#counters.get(key)?.give({ id: charge.id, units, at: this.nowUs, isVague })
  }

  reserve(ask: JointAsk, lengthUs: number): JointReserved {
    const made = {
      id: (this.#ids += 1),
      ask,
      lines: this.linesOf(ask).filter(({ spec }) => !isFlight(spec)),
      until: this.nowUs + lengthUs,
      to: this.#latestUs + lengthUs + Math.max(lengthUs / 64, 1000) + 1000,
    }
    this.#reserved.add(made)
    return made
  }

  /** Whether a reservation surely holds its units. When the clock goes back, all that is held keeps its age. */
  isHeld({ until }: JointReserved): boolean {
    return this.nowUs < until
  }

  isOver({ to }: JointReserved): boolean {
    return this.storeUs >= to
  }

  endReservation(reserved: JointReserved): void {
    this.#reserved.delete(reserved)
  }

  /** Law 1, by limit: units that surely were used in the true window that ends now, and the most that may be. */
  inForce(): { key: string; units: number; worst: number }[] {
    return [...this.#counters].map(([key, counter]) => {
      const { kind, quota, windowMs } = counter.spec
      // Places of a bucket are used up to their slack late.
      const late = kind === 'bucket' ? Math.ceil((quota * SLACK_US) / (windowMs * 1000)) : 0
      return { key, units: Math.floor(counter.inForce(this.nowUs) + 1e-6), worst: counter.worst + late }
    })
  }

  /** Notes what became of units on lease. Returns how many more may be on lease now. */
  lease(process: number, subject: string, change: Pick<LeaseChange, 'kind' | 'units'>): number {
    if (change.kind === 'lost') this.#lost(subject, change.units === 0 ? UNKNOWN_UNITS : change.units)
    return this.#leases.changed(process, subject, { ...change, nowUs: this.nowUs })
  }

  /** Notes units that a lease served, or that came back to it. */
  useLease({ process, who }: JointAsk, units: number): void {
    for (const { id } of who) this.#leases.used(process, id, units)
  }

  /** Units on lease that nobody used count once their lease is over. */
  #lost(subject: string, units: number): void {
    const { lengthUs } = this.#leases
    const [at, upTo] = [this.nowUs - 2 * lengthUs, this.nowUs + lengthUs + this.backUs]
    for (const line of this.linesOf(this.#leasedAsk(subject))) {
      const id = (this.#ids += 1)
      this.#counterOf(line).take({ id, at, upTo, units, isSure: false })
    }
  }

  #leasedAsk(id: string): JointAsk {
    return { place: 'app', who: [{ id, kind: 'id', plan: 'leased' }], cost: 1, process: 0 }
  }

  #counterOf({ key, spec }: Line): LateCounter {
    const known = this.#counters.get(key)
    if (known) return known
    const made = new LateCounter(spec)
    made.lateUs = this.backUs
    this.#counters.set(key, made)
    return made
  }

  /** Units of each limit that are left: at least, and at most. */
  room(line: Line): Bounds {
    const capacity = capacityOf(line.spec)
    if (isFlight(line.spec)) {
      const { least, most } = this.holding(line)
      return { least: Math.max(capacity - most, 0), most: Math.max(capacity - least, 0) }
    }
    const { least, most } = this.used(line)
    const beside = this.booked(line) + this.leased(subjectOf(line))
    const left = (units: number): number => Math.max(Math.floor(capacity - units + 1e-6), 0)
    return { least: left(most + beside), most: left(least) }
  }
}

/** The id of the subject that a limit is of. */
export function subjectOf({ key }: Line): string {
  return (JSON.parse(key) as [string, string])[1]
}
