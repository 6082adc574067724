// The processes of a schedule that lease: they close and die, and what each may have on lease.
import type { LeaseChange } from '../../src/features/leases/lease-reporter.js'
import { LONGEST_LEASE_US, nameOf } from './oracle.js'
import type { Play } from './play.js'
import { untilIdle, untilWithout, type Process } from './processes.js'
import type { Leases as Terms } from './places.js'
import type { Ask, Schedule, Who } from './schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

/** Units of a lease whose answer was lost: their number is not known. */
const UNKNOWN_UNITS = 1e9

export class Leases {
  readonly #play: Play
  readonly #case: Case
  readonly #subjects: readonly Who[]
  /** Of each process, by subject: units that it may hold on lease. */
  readonly #held: Map<string, number>[] = []
  readonly #grantedAt = new Map<string, number>()
  /** By process and subject: when the last lease came. */
  readonly #grantedTo = new Map<string, number>()
  readonly #terms: Terms
  #grants = 0

  constructor(play: Play, { subjects, leases = {} }: Schedule, given: Case) {
    this.#play = play
    this.#subjects = subjects
    this.#terms = leases
    this.#case = given
  }

  /** Does what sends some requests. Unless a lone one was granted nothing, units may be on lease from then on. */
  async during<T>(asks: readonly Ask[], act: () => Promise<T>): Promise<T> {
    const { oracle, processes, grouping } = this.#play
    for (const ask of asks) oracle.watch(ask)
    const wasCalm = !oracle.isLeasing && asks.length === 1
    const grants = this.#grants
    oracle.isLeasing = true
    const done = await act()
    // Units of a request that a later step denied go back a moment later.
    if (wasCalm || grouping !== 'all') await untilIdle(processes)
    oracle.isLeasing = !wasCalm || grants !== this.#grants
    return done
  }

  /** Law 1: a lease serves only until it ends, and it lasts as long as its plan says at most. */
  served({ process = 0, place, who, cost }: Ask): void {
    this.#case.leases.served += 1
    for (const one of who) {
      const name = nameOf(one)
      this.#hold(process, name, -cost)
      const onTop = place === 'stacked' || place === 'both' ? ['stacked'] : []
      const plans = [place === 'own' ? 'own' : one.plan, ...onTop]
      const lengths = plans.map((of) => this.#terms[of]?.maxMs ?? 0)
      const ageUs = this.#play.nowUs - (this.#grantedTo.get(`${process} ${name}`) ?? 0)
      const mostUs = Math.max(...lengths) * 1000
      this.#case.check(1, ageUs <= mostUs, () => `served ${ageUs} us after a lease of ${mostUs} us`)
    }
  }

  /** Notes that units came back to a lease, so that the process may hold them again. */
  cameBack({ process = 0, who }: Ask, units: number): void {
    this.#case.leases.refunded += 1
    for (const one of who) this.#hold(process, nameOf(one), units)
  }

  /** Lets all leases end: every answer is exact then. */
  async rest(): Promise<void> {
    const { processes, oracle } = this.#play
    await untilIdle(processes)
    this.#play.advance(LONGEST_LEASE_US + 1)
    await untilWithout(processes)
    oracle.isLeasing = false
    this.#case.leases.rested += 1
  }

  /** Law 4: a request that comes back when it was told is admitted, unless others took units meanwhile. */
  async wait(like: Ask): Promise<void> {
    const { oracle, processes } = this.#play
    await untilIdle(processes)
    const grants = this.#grants
    // One more than is left now: often there is room for it once units on lease are back.
    const { limits } = await this.#play.look(like)
    const ask = { ...like, cost: Math.min(...limits.map(({ remaining }) => remaining)) + 1 }
    const decision = await this.#play.lone(ask)
    await untilIdle(processes)
    const wait = decision.retryAfterMs
    if (decision.allowed || wait === null) return
    this.#play.advance(wait * 1000)
    const later = await this.#play.look(ask, ask.cost)
    const isOther =
      this.#play.grouping !== 'all' && !later.violated.some((name) => decision.violated.includes(name))
    if (this.#grants !== grants || isOther) return
    this.#case.check(4, later.allowed, () => {
      return `denied after ${wait} ms, as it was told: ${JSON.stringify([oracle.linesOf(ask), decision, later])}`
    })
  }

  /** Closes a process, and starts another in its place. */
  async close(i: number): Promise<void> {
    const { limiter } = this.#play.processes[i] as Process
    await answered(limiter.close(), 'close')
    await this.#replace(i)
  }

  /** What the process held counts when its leases end; so may what was on its way to it. */
  async crash(i: number, isBusy: boolean): Promise<void> {
    const { oracle, nowUs, processes } = this.#play
    const process = processes[i] as Process
    if (!isBusy) await untilIdle([process])
    const isLost = process.isBusy
    process.crash()
    for (const name of this.#subjects.map(nameOf)) {
      const units = isLost ? UNKNOWN_UNITS : (this.#held[i]?.get(name) ?? 0)
      if (units > 0) oracle.lost(name, units, nowUs + oracle.leaseUs(name))
    }
    await this.#replace(i)
    await process.limiter.close()
  }

  told(i: number, { kind, subject, units }: LeaseChange): void {
    const { oracle, nowUs } = this.#play
    const name = this.#nameOf(subject)
    if (kind === 'granted') {
      this.#grants += 1
      this.#grantedAt.set(name, nowUs)
      this.#grantedTo.set(`${i} ${name}`, nowUs)
      this.#hold(i, name, units)
    }
    if (kind === 'returned' || kind === 'lost') this.#hold(i, name, -units)
    if (kind !== 'lost') return
    this.#case.leases.lost += units
    const length = oracle.leaseUs(name)
    if (units === 0) return oracle.lost(name, UNKNOWN_UNITS, nowUs + length)
    // A lease that came after its end here may still live in the store.
    const granted = this.#grantedAt.get(name) ?? 0
    oracle.lost(name, units, granted === nowUs ? nowUs + length : Math.min(nowUs, granted + length))
  }

  #hold(i: number, name: string, units: number): void {
    const held = (this.#held[i] ??= new Map<string, number>())
    held.set(name, (held.get(name) ?? 0) + units)
  }

  async #replace(i: number): Promise<void> {
    const { limiter } = this.#play.processes[i] as Process
    this.#case.leases.renewed += limiter.stats().leases.renewals
    this.#held[i] = new Map()
    this.#play.restart(i)
    if (this.#case.rules > 0) await this.#play.rules.everywhere()
  }

  /** An address is told as the network that counts. */
  #nameOf({ id }: LeaseChange['subject']): string {
    const start = String(id).slice(0, 8)
    const known =
      this.#subjects.find((one) => one.id === id) ?? this.#subjects.find((one) => one.id.startsWith(start))
    return nameOf(known as Who)
  }
}
