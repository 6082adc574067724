// Plays one schedule on one road, and compares every answer with the oracle.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, Decision, Store, Subject } from '../../src/index.js'
import { BillActs } from './bill-acts.js'
import { Flights } from './flights.js'
import { Judge } from './judge.js'
import { Leases } from './leases.js'
import { askedOf, Ledger } from './ledger.js'
import { groupsOf, type Grouping, type Line } from './lines.js'
import { Oracle } from './oracle.js'
import { apart, plansInput, subjectsOf } from './places.js'
import { Process, untilIdle } from './processes.js'
import { Reservations } from './reservations.js'
import type { Clock, Road } from './road.js'
import { Refunds, type Made } from './refunds.js'
import { RuleActs } from './rule-acts.js'
import { scaled } from './rule-schedule.js'
import type { Act, Ask, Plans, Schedule, Who } from './schedule.js'
import type { Case } from './tally.js'
import { memoryFirst, withoutSlots, type Told } from './told.js'
import { answered } from './within.js'

type Burst = Extract<Act, { what: 'burst' }>

/** On roads of several steps: the time for units of a denied request to go back. It really takes far less. */
const SETTLES_WITHIN_MS = 30_000

/** A request that ends is reported 5 ms later. */
const REPORTED_WITHIN_MS = 8

export class Play {
  readonly processes: Process[]
  readonly oracle: Oracle
  readonly judge: Judge
  readonly clock: Clock
  readonly grouping: Grouping
  /** Whether the store uses real time instead of `clock`. */
  readonly isLive: boolean
  /** False when the clock goes back, or units are sold, which the oracle cannot compute. Then it judges nothing. */
  readonly isJudged: boolean
  /** All answers as text, up to the first refund that ran at the same time as requests. */
  readonly told: string[] = []
  readonly #schedule: Schedule
  readonly #case: Case
  readonly #road: Road
  readonly #open: () => Store
  readonly #refunds: Refunds
  readonly #reservations: Reservations
  readonly rules: RuleActs
  readonly #bills: BillActs
  readonly flights: Flights
  /** None if nothing is leased. */
  readonly leases: Leases | undefined
  readonly #hasFlights: boolean
  #hasRaced = false
  #plans: Plans

  constructor(road: Road, schedule: Schedule, given: Case, clock: Clock) {
    this.#road = road
    this.#schedule = schedule
    this.#case = given
    this.clock = clock
    this.grouping = road.grouping
    this.isLive = road.isLive === true
    this.isJudged = !schedule.goesBack && !schedule.hasBills
    this.#hasFlights = schedule.hasFlights === true
    this.oracle = new Oracle(schedule)
    this.judge = new Judge(this.oracle, given, road)
    this.#plans = schedule.versions[0] as Plans
    this.leases = schedule.leases && new Leases(this, schedule, given)
    this.#open = road.open(clock)
    const count = schedule.processes ?? road.processes ?? 1
    this.processes = Array.from({ length: count }, (_, i) => this.#start(i))
    this.flights = new Flights(this, given)
    this.#reservations = new Reservations(this, given)
    this.#refunds = new Refunds(this, given)
    this.rules = new RuleActs(this, given)
    this.#bills = new BillActs(this, given)
  }

  get nowUs(): number {
    return Math.round(this.clock.now * 1000)
  }

  advance(us: number): void {
    this.clock.now = (this.nowUs + us) / 1000
  }

  /** Plays all steps. Stops when a law is broken, because later failures would only follow from it. */
  async run(): Promise<void> {
    for (const { gapUs, act } of this.#schedule.steps) {
      if (this.leases && this.#road.sendsClock && gapUs > 0) await untilIdle(this.processes)
      if (this.#hasFlights && this.#road.reportsFirst && gapUs !== 0) {
        // Timers fire in their order, however late: that of the report is due before.
        await sleep(REPORTED_WITHIN_MS)
        await turn()
      }
      this.advance(gapUs)
      this.#road.onStep?.()
      await this.#perform(act)
      if (this.#case.isBroken) return
    }
    await this.#reservations.endAll()
    this.#bills.tellWarnings()
    if (!this.leases) return
    for (const i of this.processes.keys()) await this.leases.close(i)
    await this.leases.rest()
    for (const who of this.#schedule.subjects) await this.settled({ place: 'app', who: [who], cost: 1 })
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map(({ limiter }) => limiter.close()))
  }

  /** Starts another process in the place of one. */
  restart(i: number): void {
    this.processes[i] = this.#start(i)
  }

  processOf({ process = 0 }: Pick<Ask, 'process'>): Process {
    return this.processes[process] as Process
  }

  /** Sends a request, and counts the decision. */
  async consume(ask: Ask): Promise<Decision> {
    const decision = await answered(
      this.#placeOf(ask).consume(this.given(ask), { cost: ask.cost }),
      'a request',
    )
    if (ask.who.some(({ bringsLimits }) => bringsLimits)) this.#case.brought += 1
    this.#case.decisions += 1
    if (!decision.allowed) this.#case.denials += 1
    if (decision.source === 'cache') this.#case.remembered += 1
    if (decision.source === 'lease') this.leases?.served(ask)
    this.judge.answered(decision)
    return decision
  }

  /** Sends one request while nothing else is under way, and judges its decision. */
  async lone(ask: Ask): Promise<Decision> {
    const decision = await this.#during([ask], () => this.consume(ask))
    const charge = new Ledger(this, this.#case).enter(ask, decision, false)
    if (decision.allowed) this.flights.begun(ask, decision, charge)
    if (!decision.allowed && this.isInSteps(this.oracle.linesOf(ask))) await this.settled(ask)
    return decision
  }

  async look(ask: Ask, cost = 1): Promise<Decision> {
    return answered(this.#placeOf(ask).peek(this.given(ask), { cost }), 'a look')
  }

  /** The subjects of a request as it is sent. */
  given({ who }: Ask): Subject[] {
    return subjectsOf(this.rules.sent(who), this.#scaled)
  }

  /** The plans as rules make them. */
  get #scaled(): Plans {
    return scaled(this.#plans, this.rules.factors)
  }

  /** Rules have scaled plans. */
  rescaled(): void {
    this.oracle.setPlans(this.#scaled)
  }

  /** Whether these limits may be decided in several steps. */
  isInSteps(lines: readonly Line[]): boolean {
    return groupsOf(lines, this.grouping).length > 1
  }

  /** Law 2: once nothing is under way, `remaining` of each limit is that of the ledger. */
  async settled(ask: Ask): Promise<void> {
    this.tell(withoutSlots(await this.#sees(ask)))
    if (!this.isInSteps(this.oracle.linesOf(ask))) return
    // A peek in several steps lists only the limits of the step that denies.
    for (const one of apart(ask)) await this.#sees(one)
  }

  tell(said: Told | boolean | number | string): void {
    if (this.#hasRaced) return
    if (typeof said !== 'object') return void this.told.push(String(said))
    const { allowed, limits, violated, retryAfterMs, reason } = said
    this.told.push(JSON.stringify({ allowed, limits, violated, retryAfterMs, reason }))
  }

  /** Ends all requests in flight. Law 2: then all slots are free, as far as others do not hold them. */
  async landed(): Promise<void> {
    for (const ask of this.flights.endAll()) await this.settled(ask)
  }

  setPlans(plans: Plans): void {
    for (const { limiter } of this.processes) limiter.setPlans(plansInput(plans, this.#schedule.leases))
    this.#plans = plans
    this.rescaled()
  }

  #start(i: number): Process {
    return new Process({
      ...{ road: this.#road, schedule: this.#schedule, plans: this.#plans, store: this.#open() },
      now: () => this.clock.now,
      onLease: (change) => this.leases?.told(i, change),
    })
  }

  #placeOf(ask: Ask): Consumer {
    return this.processOf(ask).places[ask.place]
  }

  #during<T>(asks: readonly Ask[], act: () => Promise<T>): Promise<T> {
    return this.leases ? this.leases.during(asks, act) : act()
  }

  async #sees(given: Ask): Promise<Decision> {
    const ask = this.leases ? given : { ...given, process: undefined }
    const asked = askedOf(this, ask)
    const decision = await this.#until(ask, (seen) => !this.isJudged || this.judge.agrees(seen, asked))
    if (this.isJudged) this.judge.remaining(decision, asked, 2)
    return decision
  }

  /**
   * Peeks until `isQuiet`: on roads of several steps the units of a denied request go back a moment later, as slots of
   * requests that ended do everywhere.
   */
  async #until(ask: Ask, isQuiet: (decision: Decision) => boolean): Promise<Decision> {
    let decision = await this.look(ask)
    if (this.grouping === 'all' && !this.#hasFlights) return decision
    const until = performance.now() + SETTLES_WITHIN_MS
    while (!isQuiet(decision) && performance.now() < until) {
      await sleep(5)
      decision = await this.look(ask)
    }
    return decision
  }

  async #perform(act: Act): Promise<void> {
    switch (act.what) {
      case 'burst':
        return this.#burst(act)
      case 'refund':
        return this.#refunds.refund(act)
      case 'settle':
        return this.#refunds.settle(act.back, act.cost)
      case 'reset':
        return this.#reset(act.who, act.process)
      case 'end':
        return this.#end(act.back)
      case 'reserve':
        return this.#reservations.reserve(act.ask, act.forMs, {
          place: this.#placeOf(act.ask),
          given: this.given(act.ask),
        })
      case 'end reservation':
        return this.#reservations.end(act.back, act.units)
      case 'plans':
        return this.setPlans(this.#schedule.versions[act.version] as Plans)
      case 'close':
        this.#refunds.forgetProcess(act.process)
        return this.leases?.close(act.process)
      case 'crash':
        this.#refunds.forgetProcess(act.process)
        return this.leases?.crash(act.process, act.isBusy)
      case 'rest':
        return this.#rest(act.asks)
      case 'wait':
        return this.leases?.wait(act.ask)
      case 'scale':
      case 'override':
      case 'block':
        return this.rules.perform(act)
      case 'bill':
        return this.#bills.perform(act)
    }
  }

  async #rest(asks: readonly Ask[]): Promise<void> {
    await this.leases?.rest()
    for (const ask of asks) {
      await this.settled(ask)
      if (this.#case.isBroken) return
      await this.#burst({ what: 'burst', asks: [ask], refunds: [] })
    }
  }

  async #end(back: readonly number[]): Promise<void> {
    const ended = this.flights.end(back)
    for (const ask of ended) await this.settled(ask)
  }

  async #burst({ asks, refunds, ends = [], isFollowed }: Burst): Promise<void> {
    const racing = refunds.flatMap((back) => this.#refunds.refundable(back))
    const isAlone = asks.length === 1 && racing.length === 0
    const quiet = isAlone && !this.isJudged ? await this.look(asks[0] as Ask) : undefined
    const ended = this.flights.end(ends)
    const [decisions, gave] = await this.#during(asks, () => {
      const asked = asks.map(async (ask) => this.consume(ask))
      const given = racing.map((made) => this.#refunds.give(made))
      return Promise.all([Promise.all(asked), Promise.all(given)])
    })
    if (racing.length > 0) this.#hasRaced = true
    const give = (): void =>
      gave.forEach((isGiven, i) => this.#refunds.gave(racing[i] as Made, isGiven, true))
    this.#enter(asks, decisions, racing.length > 0 ? give : undefined)
    if (quiet && !decisions[0]?.allowed) await this.#unchanged(asks[0] as Ask, quiet)
    if (isFollowed) return
    // Check one of the requests, in turn, and all denied ones whose units may still be on their way back.
    const looked = this.#case.decisions % asks.length
    for (const [i, ask] of asks.entries()) {
      const isDue = !decisions[i]?.allowed && this.isInSteps(this.oracle.linesOf(ask))
      if (i === looked || isDue) await this.settled(ask)
    }
    for (const ask of ended) await this.settled(ask)
  }

  #enter(asks: readonly Ask[], decisions: readonly Decision[], give?: () => void): void {
    const ledger = new Ledger(this, this.#case)
    const isInSteps = asks.some((ask) => this.isInSteps(this.oracle.linesOf(ask)))
    const isRace = give !== undefined || (asks.length > 1 && (isInSteps || this.leases !== undefined))
    if (isRace && this.isJudged) ledger.before(asks, give)
    else give?.()
    for (const i of memoryFirst(decisions)) {
      const [ask, decision] = [asks[i] as Ask, decisions[i] as Decision]
      const charge = this.isJudged ? ledger.enter(ask, decision, isRace) : undefined
      const isAlone = this.leases && asks.length === 1 && this.processes.length === 1
      if (isAlone && !decision.allowed) this.judge.ownUnits(decision, askedOf(this, ask))
      this.tell(decision)
      this.#refunds.remember(ask, decision, charge)
      if (decision.allowed) this.flights.begun(ask, decision, charge)
    }
    if (isRace && this.isJudged) ledger.after(asks, decisions)
  }

  async #unchanged(ask: Ask, before: Decision): Promise<void> {
    const isAtOnce = !this.isInSteps(this.oracle.linesOf(ask))
    const holds = ({ limits, source }: Decision): boolean =>
      isAtOnce && source === 'store' && !this.#hasFlights
        ? JSON.stringify(limits) === JSON.stringify(before.limits)
        : // Units and slots of earlier requests may come back meanwhile, and a denial from memory tells fewer limits.
          // Over months, the store forgets requests in flight until their process tells of them again.
          limits.every(({ name, remaining, quotaUnit }) => {
            if (quotaUnit && this.#schedule.hasBills) return true
            return !before.limits.some((limit) => limit.name === name && limit.remaining > remaining)
          })
    const after = await this.#until(ask, holds)
    this.#case.check(2, holds(after), () => {
      return `denied, and changed: ${JSON.stringify(before.limits)} to ${JSON.stringify(after.limits)}`
    })
  }

  async #reset(who: Who, process = 0): Promise<void> {
    const { limiter } = this.processOf({ process })
    await answered(limiter.reset({ id: who.id, kind: who.kind }), 'a reset')
    this.oracle.reset(who, this.nowUs, process)
    this.#refunds.forget(who)
    for (const place of ['app', 'both'] as const) await this.settled({ place, who: [who], cost: 1 })
  }
}
