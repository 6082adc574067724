// Reservations, refunds and settlements of a joint schedule, and whether their answers are right.
import type { Decision, Reservation } from '../../src/index.js'
import type { Flight, JointBooks, JointCharge, JointReserved } from './joint-books.js'
import type { Moment } from './joint-judge.js'
import type { JointProcesses } from './joint-processes.js'
import type { JointAsk } from './joint-schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

export interface Made {
  readonly ask: JointAsk
  readonly decision: Decision
  readonly charge: JointCharge
}

interface Held {
  readonly ask: JointAsk
  readonly reservation: Reservation
  readonly reserved: JointReserved
  readonly flight: Flight | undefined
}

/** The play that they are part of. */
interface Whole {
  readonly books: JointBooks
  readonly moment: Moment
  readonly processes: JointProcesses
  readonly case: Case
  /** Law 9 of a decision. */
  heard(decision: Decision): void
  denied(ask: JointAsk, decision: Decision, since: Moment): void
  /** Enters a request that holds slots. Returns whether it does. */
  begins(flight: Flight): boolean
}

/** For how long a process with a real clock surely keeps the slots of a reservation. */
const SURELY_KEPT_MS = 60_000

export class JointUnits {
  readonly #whole: Whole
  readonly #made: Made[] = []
  readonly #held: Held[] = []
  /** How many reservations were made. */
  reserved = 0

  constructor(whole: Whole) {
    this.#whole = whole
  }

  /** What units can come back of. */
  get asks(): readonly JointAsk[] {
    return [...this.#made, ...this.#held].map(({ ask }) => ask)
  }

  remember(made: Made): void {
    this.#made.push(made)
  }

  async endAll(): Promise<void> {
    for (let left = this.#held.length; left > 0; left -= 1) await this.endReservation(0, undefined)
  }

  async reserve(ask: JointAsk, forMs: number): Promise<void> {
    const since = this.#whole.moment
    const asked = this.#whole.processes
      .of(ask)
      .reserve(this.#whole.processes.given(ask), { cost: ask.cost, for: forMs })
    const reservation = await answered(asked, 'a reservation')
    this.#whole.heard(reservation.decision)
    if (!reservation.allowed) return this.#whole.denied(ask, reservation.decision, since)
    this.reserved += 1
    since.took(ask, ask.cost, true)
    const [lines, sentUs] = [this.#whole.books.linesOf(ask), this.#whole.books.nowUs]
    const flight = { ask, lines, sentUs, isSure: forMs >= SURELY_KEPT_MS }
    const isFlying = this.#whole.begins(flight)
    const reserved = this.#whole.books.reserve(ask, forMs * 1000)
    this.#held.push({ ask, reservation, reserved, flight: isFlying ? flight : undefined })
  }

  /** @param units undefined to cancel */
  async endReservation(back: number, units: number | undefined): Promise<void> {
    const [held] = this.#held.splice(Math.max(this.#held.length - 1 - back, 0), 1)
    if (!held) return
    const { ask, reservation, reserved, flight } = held
    const moment = this.#whole.moment
    const [isHeld, isOver] = [this.#whole.books.isHeld(reserved), this.#whole.books.isOver(reserved)]
    if (flight) this.#whole.books.release(flight)
    this.#whole.books.endReservation(reserved)
    const certain = isHeld ? Math.min(units ?? 0, ask.cost) : 0
    moment.freed(reserved.lines, ask.cost - certain)
    for (const { id } of ask.who) this.#whole.processes.freedBy(isHeld ? ask.process : undefined, id)
    if (units === undefined) {
      const isGiven = await answered(reservation.cancel(), 'a cancelling')
      if (isGiven) this.#whole.case.refunds += 1
      const says = (): string =>
        `cancelling what ${isHeld ? 'is held' : 'is over'} said ${isGiven}: ${JSON.stringify(reserved)}`
      this.#whole.case.check(11, isGiven ? !isOver : !isHeld, says)
      return
    }
    const total = await answered(reservation.commit(units), 'a commit')
    const says = (): string => `${total} of ${units} were committed, at least ${certain}`
    this.#whole.case.check(11, total >= certain && total <= units, says)
    if (total < ask.cost) this.#whole.case.refunds += 1
    if (total > 0) this.#whole.books.take(ask, total, 'store')
    // Of one that may be over it is not known what it held.
    if (isHeld || isOver) moment.tookUpTo({ ...ask }, units - certain, total - certain)
    else moment.took({ ...ask }, total, false)
  }

  /** @param cost undefined to give all back, twice */
  async settle(back: number, cost: number | undefined): Promise<void> {
    const [made] = this.#made.splice(Math.max(this.#made.length - 1 - back, 0), 1)
    if (!made) return
    const { ask, decision, charge } = made
    const moment = this.#whole.moment
    const limiter = this.#whole.processes.of(ask)
    const left = cost ?? 0
    const counts = this.#whole.books.counting(charge, ask.cost - left)
    if (left < ask.cost) {
      moment.freed(charge.lines, ask.cost - left)
      for (const { id } of ask.who) this.#whole.processes.freedBy(ask.process, id)
    }
    const total = await (cost === undefined
      ? this.#refund(made)
      : answered(limiter.settle(decision, cost), 'a settlement'))
    if (left >= ask.cost) {
      const isIn = total >= ask.cost && total <= left
      this.#whole.case.check(11, isIn, () => `settled ${ask.cost} to ${left}: ${total}`)
      if (total > ask.cost) this.#whole.books.take(ask, total - ask.cost, 'store')
      return moment.tookUpTo({ ...ask }, left - ask.cost, total - ask.cost)
    }
    const isGiven = total === left
    const must = this.#whole.books.isFound(charge) && counts.some(({ least }) => least > 0)
    const can = counts.some(({ most }) => most > 0)
    const says = (): string =>
      `${ask.cost} settled to ${left}, decided by ${decision.source}: ${total} are left, ${must ? 'must' : 'may not'} go back: ${JSON.stringify(charge)}`
    this.#whole.case.check(11, isGiven ? can : !must && total === ask.cost, says)
    if (!isGiven) return
    this.#whole.case.refunds += 1
    this.#whole.books.give(charge, ask.cost - left)
    if (decision.source === 'lease') this.#whole.books.useLease(ask, left - ask.cost)
  }

  /** Gives a decision's units back twice at once. Returns the units that it still takes. */
  async #refund({ ask, decision }: Made): Promise<number> {
    const limiter = this.#whole.processes.of(ask)
    const refunds = [limiter.refund(decision), limiter.refund(decision)]
    const [first, second] = await answered(Promise.all(refunds), 'a refund')
    this.#whole.case.check(11, !second, () => 'a refund was given twice')
    return first ? 0 : ask.cost
  }
}
