// Plays one schedule on one road, and has everything that is told held against the oracle.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Consumer, Decision, Limiter, LimiterOptions } from '../../src/index.js'
import { inputOf, type LimitSpec } from './limits.js'
import { Judge, type Circumstances, type Steps } from './judge.js'
import { askedOf, Ledger } from './ledger.js'
import { Oracle, type Charge } from './oracle.js'
import type { Act, Ask, Place, Plans, Schedule, Who } from './schedule.js'
import type { Case } from './tally.js'

/** A clock that a schedule sets, in ms since 1970; parts of a ms are whole µs. */
export interface Clock {
  now: number
}

export interface Road extends Circumstances {
  readonly name: string
  /** Called before each step. */
  readonly onStep?: () => void
  /** Whether a request of several keys is one step of the store: else those at once may deny each other for a moment. */
  readonly isAtomic: boolean
  limiter(options: Omit<LimiterOptions, 'store'>, clock: Clock): Limiter
}

/** A decision, and what became of it. */
interface Made {
  readonly decision: Decision
  readonly who: readonly Who[]
  readonly charge: Charge | undefined
  taken: number
  isSettled: boolean
  /** Its subject was reset since: what a refund then gives back is not said. */
  isStale: boolean
}

type Burst = Extract<Act, { what: 'burst' }>
type Refund = Extract<Act, { what: 'refund' }>

/** How long what goes back behind a denial may take, on roads of several steps. */
const SETTLES_WITHIN_MS = 2000

export class Play {
  readonly limiter: Limiter
  readonly oracle: Oracle
  readonly judge: Judge
  readonly clock: Clock
  /** Everything that was told, as text, up to where requests and refunds race. */
  readonly told: string[] = []
  readonly #schedule: Schedule
  readonly #case: Case
  readonly #road: Road
  readonly #places: Readonly<Record<Place, Consumer>>
  readonly #made: Made[] = []
  #hasRaced = false

  constructor(road: Road, schedule: Schedule, given: Case, clock: Clock) {
    this.#road = road
    this.#schedule = schedule
    this.#case = given
    this.clock = clock
    this.oracle = new Oracle(schedule)
    this.judge = new Judge(this.oracle, given, road)
    this.limiter = road.limiter(
      { plans: plansInput(schedule.versions[0] as Plans), defaultPlan: 'free' },
      clock,
    )
    this.#places = placesOf(this.limiter, schedule)
  }

  /** Whether its clock is not the store's. */
  get isLive(): boolean {
    return this.#road.isLive === true
  }

  get nowUs(): number {
    return Math.round(this.clock.now * 1000)
  }

  advance(us: number): void {
    this.clock.now = (this.nowUs + us) / 1000
  }

  /** Stops where a law is broken: what comes after would only be its consequence. */
  async run(): Promise<void> {
    for (const { gapUs, act } of this.#schedule.steps) {
      this.advance(gapUs)
      this.#road.onStep?.()
      await this.#perform(act)
      if (this.#case.isBroken) return
    }
  }

  async #perform(act: Act): Promise<void> {
    switch (act.what) {
      case 'burst':
        return this.#burst(act)
      case 'refund':
        return this.#refund(act)
      case 'settle':
        return this.#settle(act.back, act.cost)
      case 'reset':
        return this.#reset(act.who)
      case 'plans': {
        const plans = this.#schedule.versions[act.version] as Plans
        this.limiter.setPlans(plansInput(plans))
        this.oracle.setPlans(plans)
      }
    }
  }

  async #burst({ asks, refunds }: Burst): Promise<void> {
    const racing = refunds.flatMap((back) => this.#refundable(back))
    const isRace = racing.length > 0 || (asks.length > 1 && !this.#road.isAtomic)
    const isQuiet = this.#schedule.goesBack && asks.length === 1 && racing.length === 0
    const quiet = isQuiet ? await this.look(asks[0] as Ask) : undefined
    const asked = asks.map(async (ask) => this.consume(ask))
    const given = racing.map((made) => this.limiter.refund(made.decision))
    const decisions = await Promise.all(asked)
    if (racing.length > 0) this.#hasRaced = true
    const ledger = new Ledger(this, this.#case)
    if (isRace) ledger.before(asks)
    await Promise.all(given.map(async (isGiven, i) => this.#gave(racing[i] as Made, await isGiven)))
    decisions.forEach((decision, i) => {
      const charge = this.#schedule.goesBack
        ? undefined
        : ledger.enter(asks[i] as Ask, decision, isRace, this.#stepsOf(asks[i] as Ask))
      this.#remember(asks[i] as Ask, decision, charge)
    })
    if (isRace && !this.#schedule.goesBack) ledger.after(asks, decisions)
    if (quiet && !decisions[0]?.allowed) await this.#unchanged(asks[0] as Ask, quiet)
    for (const ask of asks.slice(0, 2)) await this.settled(ask)
  }

  /** Asks, and counts what was told. */
  async consume(ask: Ask): Promise<Decision> {
    const decision = await this.#places[ask.place].consume(ask.who, { cost: ask.cost })
    this.#case.decisions += 1
    if (!decision.allowed) this.#case.denials += 1
    this.judge.answered(decision)
    return decision
  }

  /** One request when nothing else is under way. */
  async lone(ask: Ask): Promise<Decision> {
    const decision = await this.consume(ask)
    new Ledger(this, this.#case).enter(ask, decision, false, this.#stepsOf(ask))
    return decision
  }

  async look(ask: Ask): Promise<Decision> {
    return this.#places[ask.place].peek(ask.who, { cost: 1 })
  }

  /** Law 2: once all is quiet, what is left of each limit is what the ledger says. */
  async settled(ask: Ask): Promise<void> {
    const asked = askedOf(this, ask)
    let decision = await this.look(ask)
    this.#tell(decision)
    if (this.#schedule.goesBack) return
    const until = performance.now() + (this.#road.isAtomic ? 0 : SETTLES_WITHIN_MS)
    while (!this.judge.agrees(decision, asked) && performance.now() < until) {
      await sleep(5)
      decision = await this.look(ask)
    }
    this.judge.remaining(decision, asked, 2)
  }

  #stepsOf({ who }: Ask): Steps {
    return this.#road.isAtomic || who.length === 1 ? 'one step' : 'several steps'
  }

  async #unchanged(ask: Ask, before: Decision): Promise<void> {
    const after = await this.look(ask)
    const [was, is] = [before, after].map(({ limits }) => JSON.stringify(limits))
    this.#case.check(2, was === is, () => `denied, and changed: ${was} to ${is}`)
  }

  #remember(ask: Ask, decision: Decision, charge: Charge | undefined): void {
    this.#tell(decision)
    const taken = decision.allowed ? ask.cost : 0
    this.#made.push({ decision, who: ask.who, charge, taken, isSettled: false, isStale: false })
  }

  /** A decision that can be given back in this schedule; none when there is none so far back. */
  #refundable(back: number): Made[] {
    const made = this.#made.at(-1 - back)
    return made && !made.isStale ? [made] : []
  }

  async #refund({ back, atOnce }: Refund): Promise<void> {
    const all = back.flatMap((one) => this.#refundable(one))
    if (atOnce) {
      const given = await Promise.all(all.map(({ decision }) => this.limiter.refund(decision)))
      given.forEach((isGiven, i) => this.#gave(all[i] as Made, isGiven))
    } else for (const made of all) this.#gave(made, await this.limiter.refund(made.decision))
    await this.#lookAt(all)
  }

  #gave(made: Made, isGiven: boolean): void {
    this.#tell(isGiven)
    if (isGiven) this.#case.refunds += 1
    this.#account(made, made.taken, isGiven)
    if (isGiven) made.taken = 0
  }

  /** Law 11: a refund gives once what has not come back by itself, and says so. */
  #account(made: Made, units: number, isGiven: boolean): void {
    const { charge, isSettled } = made
    made.isSettled = true
    if (this.#schedule.goesBack) return
    const now = this.nowUs
    const bounds = charge && !isSettled && units > 0 ? this.oracle.refundable(charge, units, now) : []
    const [least, most] = [bounds.some((one) => one.least > 0), bounds.some((one) => one.most > 0)]
    const says = (): string =>
      `refund of ${units} said ${isGiven}: ${JSON.stringify({ isSettled, charge, bounds })}`
    this.#case.check(11, isGiven ? most : !least, says)
    if (charge && bounds.length > 0) this.oracle.give(charge, units, now)
  }

  async #settle(back: number, cost: number): Promise<void> {
    const [made] = this.#refundable(back)
    if (!made) return
    const { charge, taken, isSettled } = made
    const total = await this.limiter.settle(made.decision, cost)
    this.#tell(total)
    if (total < taken) this.#case.refunds += 1
    if (charge && !isSettled && cost < taken) this.#account(made, taken - cost, total === cost)
    else if (charge && !isSettled && !this.#schedule.goesBack)
      this.#tookMore(charge, cost - taken, total - taken)
    else if (!this.#schedule.goesBack)
      this.#case.check(11, total === taken, () => `settled twice: ${total}, not ${taken}`)
    made.taken = total
    made.isSettled = made.isSettled || taken > 0
    await this.#lookAt([made])
  }

  /** As much as fits of what was too little. */
  #tookMore({ ask, lines }: Charge, wanted: number, more: number): void {
    const now = this.nowUs
    const rooms = lines.map((line) => this.oracle.room(line, now))
    const least = Math.min(wanted, ...rooms.map((room) => room.least))
    const most = Math.min(wanted, ...rooms.map((room) => room.most))
    this.#case.check(11, more >= least && more <= most, () => `settled ${more} more, not ${least}..${most}`)
    if (more <= 0) return
    this.oracle.take(ask, lines, now, more)
    this.judge.neverOver(lines, now)
  }

  async #lookAt(all: readonly Made[]): Promise<void> {
    for (const { charge } of all.slice(0, 2)) if (charge) await this.settled(charge.ask)
  }

  async #reset(who: Who): Promise<void> {
    await this.limiter.reset({ id: who.id, kind: who.kind })
    this.oracle.reset(who)
    for (const made of this.#made) {
      if (made.who.some(({ id, kind }) => id === who.id && kind === who.kind)) made.isStale = true
    }
    for (const place of ['app', 'both'] as const) await this.settled({ place, who: [who], cost: 1 })
  }

  #tell(said: Decision | boolean | number): void {
    if (this.#hasRaced) return
    if (typeof said !== 'object') return void this.told.push(String(said))
    const { allowed, limits, violated, retryAfterMs, reason } = said
    this.told.push(JSON.stringify({ allowed, limits, violated, retryAfterMs, reason }))
  }
}

export function plansInput(plans: Plans): NonNullable<LimiterOptions['plans']> {
  return Object.fromEntries(Object.entries(plans).map(([name, specs]) => [name, inputsOf(specs)]))
}

export function inputsOf(specs: readonly LimitSpec[]): ReturnType<typeof inputOf>[] {
  return specs.map((spec, i) => inputOf(spec, `l${i}`))
}

function placesOf(limiter: Limiter, { own, stacked }: Schedule): Readonly<Record<Place, Consumer>> {
  const stack = { s: inputsOf(stacked) }
  return {
    app: limiter,
    group: limiter.scope({ group: 'g' }),
    own: limiter.scope({ group: 'h', limit: inputsOf(own) }),
    stacked: limiter.scope({ stacked: stack }),
    both: limiter.scope({ group: 'g', stacked: stack }),
  }
}
