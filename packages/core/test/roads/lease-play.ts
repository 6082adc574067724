// Plays one schedule of leasing processes, and compares every answer with the oracle.
import type { Decision, Store } from '../../src/index.js'
import type { Bounds } from './counter.js'
import { LeaseJudge, type LeaseAsked } from './lease-judge.js'
import { LONGEST_LEASE_US, LeaseOracle, nameOf } from './lease-oracle.js'
import { LeasePool } from './lease-pool.js'
import { type LeasingProcess, untilIdle, untilWithout } from './lease-processes.js'
import { LeaseRefunds } from './lease-refunds.js'
import type { LeaseAct, LeaseSchedule, ProcessAsk, Tick } from './lease-schedule.js'
import type { Line } from './lines.js'
import { apart } from './places.js'
import type { Clock } from './road.js'
import { isHostile, type Plans } from './schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

export interface LeaseRoad {
  readonly name: string
  /** Whether subjects of a request may be decided in several steps. */
  readonly isInSteps: boolean
  /**
   * Whether calls carry the clock. It then waits for calls that are under way: one that came after a later one would set
   * it back for the server.
   */
  readonly sendsClock?: boolean
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
  readonly #pool: LeasePool
  readonly #schedule: LeaseSchedule
  readonly #road: LeaseRoad
  readonly clock: Clock
  readonly #refunds: LeaseRefunds
  /** Whether nothing is on lease, or on its way. */
  #isCalm = true

  constructor(road: LeaseRoad, schedule: LeaseSchedule, given: Case, clock: Clock) {
    this.#road = road
    this.#schedule = schedule
    this.clock = clock
    this.case = given
    this.oracle = new LeaseOracle(schedule)
    this.judge = new LeaseJudge(this.oracle, given)
    this.#pool = new LeasePool(this, schedule, road.stores(clock))
    this.#refunds = new LeaseRefunds(this)
  }

  get processes(): readonly LeasingProcess[] {
    return this.#pool.processes
  }

  get nowUs(): number {
    return Math.round(this.clock.now * 1000)
  }

  advance(us: number): void {
    this.clock.now = (this.nowUs + us) / 1000
  }

  async #pass(us: number): Promise<void> {
    if (this.#road.sendsClock && us > 0) await untilIdle(this.processes)
    this.advance(us)
  }

  /** Plays all steps, then looks at every subject once all processes were closed. */
  async run(): Promise<void> {
    for (const { gapUs, act } of this.#schedule.steps) {
      await this.#pass(gapUs)
      await this.#perform(act)
      if (this.case.isBroken) return
    }
    for (const i of this.processes.keys()) await this.#pool.close(i)
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
    for (const one of who) this.#pool.hold(process, nameOf(one), units)
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
        return this.#pool.setPlans(this.#schedule.versions[act.version] as Plans)
      case 'close':
        this.#refunds.forgetProcess(act.process)
        return this.#pool.close(act.process)
      case 'crash':
        this.#refunds.forgetProcess(act.process)
        return this.#pool.crash(act.process, act.isBusy)
      case 'rest':
        return this.#rest(act.asks)
      case 'wait':
        return this.#wait(act.ask)
    }
  }

  async #tick({ gapUs, asks }: Tick): Promise<void> {
    await this.#pass(gapUs)
    for (const ask of asks) this.oracle.watch(ask)
    const asked = asks.map((ask) => this.asked(ask))
    const before = asked.map((one) => this.rooms(one))
    const wasCalm = this.#isCalm && asks.length === 1
    const grants = this.#pool.grants
    this.#isCalm = false
    const sent = asks.map(async (ask) => (this.processes[ask.process] as LeasingProcess).consume(ask))
    const decisions = await Promise.all(sent)
    // Units of a request that a later step denied go back a moment later.
    if (this.#road.isInSteps || wasCalm) await untilIdle(this.processes)
    this.#isCalm = wasCalm && grants === this.#pool.grants
    for (const [i, ask] of asks.entries()) this.#enter(ask, decisions[i] as Decision)
    const lines = new Map<string, Line>()
    for (const [i, one] of asked.entries())
      if (decisions[i]?.allowed) for (const line of one.lines) lines.set(line.key, line)
    this.judge.neverOver([...lines.values()], this.nowUs)
    for (const [i, decision] of decisions.entries()) {
      const [one, rooms] = [asked[i] as LeaseAsked, before[i] as Bounds[]]
      if (decision.source !== 'store') continue
      this.judge.atMost(decision, one, rooms, decision.allowed ? one.cost : 0)
      if (!decision.allowed) this.judge.retry(decision, one)
      const isAlone = this.processes.length === 1 && asks.length === 1
      if (!decision.allowed && isAlone) this.judge.denied(decision, one, rooms)
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
      for (const one of ask.who) this.#pool.hold(ask.process, nameOf(one), -ask.cost)
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
  async #wait(like: ProcessAsk): Promise<void> {
    await untilIdle(this.processes)
    const grants = this.#pool.grants
    const process = this.processes[like.process] as LeasingProcess
    // One more than is left now: often there is room for it once units on lease are back.
    const { limits } = await process.peek({ ...like, cost: 1 })
    const ask = { ...like, cost: Math.min(...limits.map(({ remaining }) => remaining)) + 1 }
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
    if (this.#pool.grants !== grants || isOther) return
    const says = (): string =>
      `denied after ${wait} ms, as it was told: ${JSON.stringify([asked.lines, decision, later])}`
    this.case.check(4, later.allowed, says)
  }
}
