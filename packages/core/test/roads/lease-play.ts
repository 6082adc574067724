// Plays one schedule of leasing processes, and compares every answer with the oracle.
import type { Decision, LeaseChange, Store } from '../../src/index.js'
import type { Bounds } from './counter.js'
import { LeaseJudge, type LeaseAsked } from './lease-judge.js'
import { LONGEST_LEASE_US, LeaseOracle, nameOf, UNKNOWN_UNITS } from './lease-oracle.js'
import { LeasingProcess, untilIdle, untilWithout } from './lease-processes.js'
import { LeaseRefunds } from './lease-refunds.js'
import type { LeaseAct, LeaseSchedule, ProcessAsk, Tick } from './lease-schedule.js'
import { apart, plansInput } from './places.js'
import type { Clock } from './play.js'
import { isHostile, type Plans, type Who } from './schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

export interface LeaseRoad {
  readonly name: string
  /** Whether subjects of a request may be decided in several steps. */
  readonly isInSteps: boolean
  /** Makes a store for each process, all on the same counts. */
  stores(clock: Clock): () => Store
}

/** What a schedule met. */
export interface Met {
  /** Decisions of a lease, and those of them that were refunded. */
  leased: number
  refunds: number
  renewals: number
  /** Units. */
  lost: number
  /** Exact looks, after leases. */
  rests: number
}

export class LeasePlay {
  readonly oracle: LeaseOracle
  readonly judge: LeaseJudge
  readonly case: Case
  readonly met: Met = { leased: 0, refunds: 0, renewals: 0, lost: 0, rests: 0 }
  readonly processes: LeasingProcess[]
  readonly #schedule: LeaseSchedule
  readonly #road: LeaseRoad
  readonly #clock: Clock
  readonly #open: () => Store
  readonly #refunds: LeaseRefunds
  /** Of each process, by subject: units that it may hold on lease. */
  readonly #held: Map<string, number>[]
  readonly #grantedAt = new Map<string, number>()
  #plans: Plans
  /** Leases granted so far. */
  #grants = 0
  /** Whether nothing is on lease, or on its way. */
  #isCalm = true

  constructor(road: LeaseRoad, schedule: LeaseSchedule, given: Case, clock: Clock) {
    this.#road = road
    this.#schedule = schedule
    this.#clock = clock
    this.case = given
    this.oracle = new LeaseOracle(schedule)
    this.judge = new LeaseJudge(this.oracle, given)
    this.#open = road.stores(clock)
    this.#plans = schedule.versions[0] as Plans
    this.#held = Array.from({ length: schedule.processes }, () => new Map<string, number>())
    this.processes = this.#held.map((_, i) => this.#start(i))
    this.#refunds = new LeaseRefunds(this)
  }

  get nowUs(): number {
    return Math.round(this.#clock.now * 1000)
  }

  advance(us: number): void {
    this.#clock.now = (this.nowUs + us) / 1000
  }

  /** Plays all steps, then looks at every subject once all processes were closed. */
  async run(): Promise<void> {
    for (const { gapUs, act } of this.#schedule.steps) {
      this.advance(gapUs)
      await this.#perform(act)
      if (this.case.isBroken) return
    }
    for (const i of this.processes.keys()) await this.#close(i)
    await this.#rest(
      this.#schedule.subjects.map((who) => ({ place: 'app', who: [who], cost: 1, process: 0 })),
    )
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map(({ limiter }) => limiter.close()))
  }

  asked(ask: ProcessAsk): LeaseAsked {
    const isOdd = ask.who.some(isHostile)
    return { lines: this.oracle.linesOf(ask), cost: ask.cost, now: this.nowUs, isHostile: isOdd }
  }

  rooms({ lines, now }: LeaseAsked): Bounds[] {
    return lines.map((line) => this.oracle.room(line, now))
  }

  /** Looks where a request's limits stand: exactly if nothing is on lease, else never more than is left. */
  async look(ask: ProcessAsk, law: 2 | 3 | 11 = 3): Promise<void> {
    const process = this.processes[ask.process] as LeasingProcess
    for (const one of this.#road.isInSteps ? apart(ask) : [ask]) {
      const asked = this.asked({ ...one, cost: 1, process: ask.process })
      const decision = await process.peek({ ...one, cost: 1 })
      this.judge.atMost(decision, asked, this.rooms(asked), 0, law)
      if (this.#isCalm && law !== 11) this.judge.exact(decision, asked, law)
    }
  }

  /** Notes that units came back to a lease, so that the process may hold them again. */
  cameBack({ process, who }: ProcessAsk, units: number): void {
    for (const one of who) this.#hold(process, nameOf(one), units)
  }

  async #perform(act: LeaseAct): Promise<void> {
    switch (act.what) {
      case 'burst':
        for (const tick of act.ticks) {
          await this.#tick(tick)
          if (this.case.isBroken) return
        }
        return this.look(act.ticks.at(-1)?.asks[0] as ProcessAsk)
      case 'refund':
        return this.#refunds.refund(act.back, act.isTwice)
      case 'settle':
        return this.#refunds.settle(act.back, act.cost)
      case 'reset':
        await answered((this.processes[act.process] as LeasingProcess).limiter.reset(act.who), 'a reset')
        this.oracle.reset(act.who, act.process, this.nowUs)
        return this.#refunds.forget(act.who)
      case 'plans':
        return this.#setPlans(this.#schedule.versions[act.version] as Plans)
      case 'close':
        return this.#close(act.process)
      case 'crash':
        return this.#crash(act.process, act.isBusy)
      case 'rest':
        return this.#rest(act.asks)
      case 'wait':
        return this.#wait(act.ask)
    }
  }

  async #tick({ gapUs, asks }: Tick): Promise<void> {
    this.advance(gapUs)
    for (const ask of asks) this.oracle.watch(ask)
    const asked = asks.map((ask) => this.asked(ask))
    const before = asked.map((one) => this.rooms(one))
    const wasCalm = this.#isCalm && asks.length === 1
    const grants = this.#grants
    this.#isCalm = false
    const sent = asks.map(async (ask) => (this.processes[ask.process] as LeasingProcess).consume(ask))
    const decisions = await Promise.all(sent)
    // Units of a request that a later step denied go back a moment later.
    if (this.#road.isInSteps || wasCalm) await untilIdle(this.processes)
    this.#isCalm = wasCalm && grants === this.#grants
    for (const [i, ask] of asks.entries()) this.#enter(ask, decisions[i] as Decision)
    const lines = new Map(asked.flatMap((one) => one.lines.map((line) => [line.key, line] as const)))
    this.judge.neverOver([...lines.values()], this.nowUs)
    for (const [i, decision] of decisions.entries()) {
      const [one, rooms] = [asked[i] as LeaseAsked, before[i] as Bounds[]]
      if (decision.source !== 'store') continue
      this.judge.atMost(decision, one, rooms, decision.allowed ? one.cost : 0)
      if (!decision.allowed) this.judge.retry(decision, one)
      if (!this.#isCalm) continue
      this.judge.verdict(decision, one, rooms)
      this.judge.exact(decision, one, 3)
    }
  }

  #enter(ask: ProcessAsk, decision: Decision): void {
    this.case.decisions += 1
    this.judge.answered(decision)
    const { allowed, source } = decision
    const isLeased = source === 'lease'
    if (!allowed) this.case.denials += 1
    if (isLeased) {
      this.met.leased += 1
      for (const one of ask.who) this.#hold(ask.process, nameOf(one), -ask.cost)
    }
    const taking = { at: this.nowUs, units: ask.cost, isLeased }
    this.#refunds.remember(ask, decision, allowed ? this.oracle.take(ask, taking) : undefined)
  }

  /** Lets all leases end, and asks: every answer is exact now. */
  async #rest(asks: readonly ProcessAsk[]): Promise<void> {
    await untilIdle(this.processes)
    this.advance(LONGEST_LEASE_US + 1)
    await untilWithout(this.processes)
    this.#isCalm = true
    this.met.rests += 1
    for (const ask of asks) {
      await this.look(ask, 2)
      if (this.case.isBroken) return
      await this.#tick({ gapUs: 0, asks: [ask] })
    }
  }

  /** Law 4: a request that comes back when it was told is admitted, unless others took units meanwhile. */
  async #wait(ask: ProcessAsk): Promise<void> {
    await untilIdle(this.processes)
    const grants = this.#grants
    const process = this.processes[ask.process] as LeasingProcess
    this.oracle.watch(ask)
    const asked = this.asked(ask)
    this.#isCalm = false
    const decision = await process.consume(ask)
    this.#enter(ask, decision)
    await untilIdle(this.processes)
    const wait = decision.retryAfterMs
    if (decision.allowed || wait === null) return
    this.advance(wait * 1000)
    const later = await process.peek(ask)
    const isOther = this.#road.isInSteps && !later.violated.some((name) => decision.violated.includes(name))
    if (this.#grants !== grants || isOther) return
    const says = (): string =>
      `denied after ${wait} ms, as it was told: ${JSON.stringify([asked.lines, decision, later])}`
    this.case.check(4, later.allowed, says)
  }

  #setPlans(plans: Plans): void {
    this.#plans = plans
    this.oracle.setPlans(plans)
    for (const { limiter } of this.processes) limiter.setPlans(plansInput(plans, this.#schedule.leases))
  }

  async #close(i: number): Promise<void> {
    const { limiter } = this.processes[i] as LeasingProcess
    await answered(limiter.close(), 'close')
    this.met.renewals += limiter.stats().leases.renewals
    this.#replace(i)
  }

  /** What the process held counts when its leases end; so may what was on its way to it. */
  async #crash(i: number, isBusy: boolean): Promise<void> {
    const process = this.processes[i] as LeasingProcess
    if (!isBusy) await untilIdle([process])
    const isLost = process.isBusy
    process.crash()
    for (const name of this.#schedule.subjects.map(nameOf)) {
      const units = isLost ? UNKNOWN_UNITS : (this.#held[i]?.get(name) ?? 0)
      if (units > 0) this.oracle.lost(name, units, this.nowUs + this.oracle.lengthOf(name))
    }
    this.met.renewals += process.limiter.stats().leases.renewals
    this.#replace(i)
    await process.limiter.close()
  }

  #replace(i: number): void {
    this.#refunds.forgetProcess(i)
    this.#held[i] = new Map()
    this.processes[i] = this.#start(i)
  }

  #start(i: number): LeasingProcess {
    const now = (): number => this.#clock.now
    return new LeasingProcess(this.#open(), this.#schedule, this.#plans, now, (change) =>
      this.#told(i, change),
    )
  }

  #told(i: number, { kind, subject, units }: LeaseChange): void {
    const name = this.#nameOf(subject)
    if (kind === 'granted') {
      this.#grants += 1
      this.#grantedAt.set(name, this.nowUs)
      this.#hold(i, name, units)
    }
    if (kind === 'returned' || kind === 'lost') this.#hold(i, name, -units)
    if (kind !== 'lost') return
    this.met.lost += units
    const length = this.oracle.lengthOf(name)
    if (units === 0) return this.oracle.lost(name, UNKNOWN_UNITS, this.nowUs + length)
    this.oracle.lost(name, units, Math.min(this.nowUs, (this.#grantedAt.get(name) ?? 0) + length))
  }

  /** An address is told as the network that counts. */
  #nameOf({ id }: LeaseChange['subject']): string {
    const { subjects } = this.#schedule
    return nameOf(
      (subjects.find((one) => one.id === id) ??
        subjects.find((one) => one.id.startsWith(String(id).slice(0, 8)))) as Who,
    )
  }

  #hold(i: number, name: string, units: number): void {
    const held = this.#held[i]
    held?.set(name, (held.get(name) ?? 0) + units)
  }
}
