// The processes of a schedule: they start, close and die, and tell what they have on lease.
import type { LeaseChange, Store } from '../../src/index.js'
import { nameOf, UNKNOWN_UNITS, type LeaseOracle } from './lease-oracle.js'
import { LeasingProcess, untilIdle } from './lease-processes.js'
import type { LeaseSchedule } from './lease-schedule.js'
import { plansInput } from './places.js'
import type { Clock } from './road.js'
import type { Plans, Who } from './schedule.js'
import { answered } from './within.js'

interface Books {
  readonly oracle: LeaseOracle
  readonly clock: Clock
  readonly nowUs: number
  readonly met: { renewals: number; lost: number }
}

export class LeasePool {
  readonly processes: LeasingProcess[]
  /** Leases granted so far. */
  grants = 0
  readonly #books: Books
  readonly #schedule: LeaseSchedule
  readonly #open: () => Store
  /** Of each process, by subject: units that it may hold on lease. */
  readonly #held: Map<string, number>[]
  readonly #grantedAt = new Map<string, number>()
  #plans: Plans

  /** @param open makes a store for a process, all on the same counts */
  constructor(books: Books, schedule: LeaseSchedule, open: () => Store) {
    this.#books = books
    this.#schedule = schedule
    this.#open = open
    this.#plans = schedule.versions[0] as Plans
    this.#held = Array.from({ length: schedule.processes }, () => new Map<string, number>())
    this.processes = this.#held.map((_, i) => this.#start(i))
  }

  setPlans(plans: Plans): void {
    this.#plans = plans
    this.#books.oracle.setPlans(plans)
    for (const { limiter } of this.processes) limiter.setPlans(plansInput(plans, this.#schedule.leases))
  }

  /** Closes a process, and starts another in its place. */
  async close(i: number): Promise<void> {
    const { limiter } = this.processes[i] as LeasingProcess
    await answered(limiter.close(), 'close')
    this.#replace(i, limiter)
  }

  /** What the process held counts when its leases end; so may what was on its way to it. */
  async crash(i: number, isBusy: boolean): Promise<void> {
    const { oracle, nowUs } = this.#books
    const process = this.processes[i] as LeasingProcess
    if (!isBusy) await untilIdle([process])
    const isLost = process.isBusy
    process.crash()
    for (const name of this.#schedule.subjects.map(nameOf)) {
      const units = isLost ? UNKNOWN_UNITS : (this.#held[i]?.get(name) ?? 0)
      if (units > 0) oracle.lost(name, units, nowUs + oracle.lengthOf(name))
    }
    this.#replace(i, process.limiter)
    await process.limiter.close()
  }

  /** Notes units that a process has on lease from now, or no more. */
  hold(i: number, name: string, units: number): void {
    const held = this.#held[i]
    held?.set(name, (held.get(name) ?? 0) + units)
  }

  #replace(i: number, before: LeasingProcess['limiter']): void {
    this.#books.met.renewals += before.stats().leases.renewals
    this.#held[i] = new Map()
    this.processes[i] = this.#start(i)
  }

  #start(i: number): LeasingProcess {
    const now = (): number => this.#books.clock.now
    return new LeasingProcess(this.#open(), this.#schedule, this.#plans, now, (change) =>
      this.#told(i, change),
    )
  }

  #told(i: number, { kind, subject, units }: LeaseChange): void {
    const { oracle, nowUs, met } = this.#books
    const name = this.#nameOf(subject)
    if (kind === 'granted') {
      this.grants += 1
      this.#grantedAt.set(name, nowUs)
      this.hold(i, name, units)
    }
    if (kind === 'returned' || kind === 'lost') this.hold(i, name, -units)
    if (kind !== 'lost') return
    met.lost += units
    const length = oracle.lengthOf(name)
    if (units === 0) return oracle.lost(name, UNKNOWN_UNITS, nowUs + length)
    // A lease that came after its end here may still live in the store.
    const granted = this.#grantedAt.get(name) ?? 0
    oracle.lost(name, units, granted === nowUs ? nowUs + length : Math.min(nowUs, granted + length))
  }

  /** An address is told as the network that counts. */
  #nameOf({ id }: LeaseChange['subject']): string {
    const { subjects } = this.#schedule
    const start = String(id).slice(0, 8)
    const known = subjects.find((one) => one.id === id) ?? subjects.find((one) => one.id.startsWith(start))
    return nameOf(known as Who)
  }
}
