// Refunds and settles decisions of a schedule, and checks the answers.
import type { Decision, Limiter } from '../../src/index.js'
import { isFlight } from './lines.js'
import type { Charge } from './oracle.js'
import type { Play } from './play.js'
import type { Act, Ask, Who } from './schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

/** A decision that was made, and its refunds and settlements so far. */
export interface Made {
  readonly ask: Ask
  readonly decision: Decision
  /** The one that made it. */
  readonly limiter: Limiter
  readonly charge: Charge | undefined
  /** Units that the request holds now. */
  taken: number
  isSettled: boolean
  /** Whether its subject was reset since, or its process is gone. The laws do not say what a refund then gives back. */
  isStale: boolean
}

type Refund = Extract<Act, { what: 'refund' }>

/** The answer to a refund. */
interface Given {
  readonly units: number
  readonly isGiven: boolean
  readonly isRace?: boolean
}

export class Refunds {
  readonly #play: Play
  readonly #case: Case
  readonly #made: Made[] = []

  constructor(play: Play, given: Case) {
    this.#play = play
    this.#case = given
  }

  remember(ask: Ask, decision: Decision, charge: Charge | undefined): void {
    const taken = decision.allowed ? ask.cost : 0
    const { limiter } = this.#play.processOf(ask)
    this.#made.push({ ask, decision, limiter, charge, taken, isSettled: false, isStale: false })
  }

  forget({ id, kind }: Who): void {
    for (const made of this.#made) {
      if (made.ask.who.some((one) => one.id === id && one.kind === kind)) made.isStale = true
    }
  }

  forgetProcess(process: number): void {
    for (const made of this.#made) if (made.ask.process === process) made.isStale = true
  }

  /** The decision made `back` decisions ago; none when there is none, or its subject was reset. */
  refundable(back: number): Made[] {
    const made = this.#made.at(-1 - back)
    return made && !made.isStale ? [made] : []
  }

  async give({ decision, limiter }: Made): Promise<boolean> {
    return answered(limiter.refund(decision), 'a refund')
  }

  async refund({ back, atOnce }: Refund): Promise<void> {
    const all = back.flatMap((one) => this.refundable(one))
    if (atOnce) {
      const given = await Promise.all(all.map((made) => this.give(made)))
      given.forEach((isGiven, i) => this.gave(all[i] as Made, isGiven))
    } else for (const made of all) this.gave(made, await this.give(made))
    await this.#lookAt(all)
  }

  /** @param isRace whether requests ran at the same time, so that the order is unknown */
  gave(made: Made, isGiven: boolean, isRace = false): void {
    this.#play.tell(isGiven)
    if (isGiven) this.#case.refunds += 1
    this.#account(made, { units: made.taken, isGiven, isRace })
    if (isGiven) made.taken = 0
  }

  async settle(back: number, cost: number): Promise<void> {
    const [made] = this.refundable(back)
    if (!made) return
    const { charge, taken, isSettled } = made
    const total = await answered(made.limiter.settle(made.decision, cost), 'a settlement')
    this.#play.tell(total)
    if (total < taken) this.#case.refunds += 1
    if (charge && !isSettled && cost < taken)
      this.#account(made, { units: taken - cost, isGiven: total === cost })
    else if (charge && !isSettled && this.#play.isJudged) this.#tookMore(charge, cost - taken, total - taken)
    else if (this.#play.isJudged)
      this.#case.check(11, total === taken, () => `settled twice: ${total}, not ${taken}`)
    made.taken = total
    made.isSettled = made.isSettled || taken > 0
    await this.#lookAt([made])
  }

  /** Law 11: a refund gives back, once, the units that still count, and returns whether there were any. */
  #account(made: Made, { units, isGiven, isRace = false }: Given): void {
    const { charge, isSettled } = made
    const { oracle, nowUs: now, isJudged } = this.#play
    made.isSettled = true
    if (!isJudged) return
    const bounds = charge && !isSettled && units > 0 ? oracle.refundable(charge, units, now) : []
    const [least, most] = [bounds.some((one) => one.least > 0), bounds.some((one) => one.most > 0)]
    const says = (): string =>
      `refund of ${units} said ${isGiven}: ${JSON.stringify({ isSettled, charge, bounds })}`
    this.#case.check(11, isGiven ? most : !least, says)
    if (!charge || bounds.length === 0 || (charge.isLeased && !isGiven)) return
    oracle.give(charge, units, now, isRace)
    if (charge.isLeased) this.#play.leases?.cameBack(made.ask, units)
  }

  /** A settlement above the cost takes as many of the missing units as fit. */
  #tookMore({ ask, lines: all }: Charge, wanted: number, more: number): void {
    const { oracle, judge, nowUs: now } = this.#play
    const lines = all.filter(({ spec }) => !isFlight(spec))
    const rooms = lines.map((line) => oracle.room(line, now))
    const least = Math.min(wanted, ...rooms.map((room) => room.least))
    const most = Math.min(wanted, ...rooms.map((room) => room.most))
    this.#case.check(11, more >= least && more <= most, () => `settled ${more} more, not ${least}..${most}`)
    // In several steps the first may have taken more units and given some back.
    if (this.#play.isInSteps(all)) oracle.stir(lines, now)
    if (more <= 0) return
    oracle.take(ask, { lines, at: now, units: more })
    judge.neverOver(lines, now)
  }

  async #lookAt(all: readonly Made[]): Promise<void> {
    for (const { charge } of all.slice(0, 1)) if (charge) await this.#play.settled(charge.ask)
  }
}
