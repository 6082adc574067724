// Makes the reservations of a schedule, ends them, and checks the answers.
import type { Consumer, Reservation, Subject } from '../../src/index.js'
import { Ledger } from './ledger.js'
import type { Reserved } from './oracle.js'
import type { Play } from './play.js'
import type { Ask } from './schedule.js'
import type { Case } from './tally.js'
import { answered } from './within.js'

interface Made {
  readonly ask: Ask
  readonly reservation: Reservation
  readonly reserved: Reserved | undefined
}

/** The request as its caller makes it. */
interface Asking {
  readonly place: Consumer
  readonly given: readonly Subject[]
}

export class Reservations {
  readonly #play: Play
  readonly #case: Case
  readonly #made: Made[] = []

  constructor(play: Play, given: Case) {
    this.#play = play
    this.#case = given
  }

  async reserve(ask: Ask, forMs: number, { place, given }: Asking): Promise<void> {
    const asked = place.reserve(given, { cost: ask.cost, for: forMs })
    const reservation = await answered(asked, 'a reservation')
    const { decision, allowed } = reservation
    this.#case.decisions += 1
    if (allowed) this.#case.reserved += 1
    else this.#case.denials += 1
    this.#play.judge.answered(decision)
    const reserved = new Ledger(this.#play, this.#case).reserve(ask, decision, forMs * 1000)
    this.#made.push({ ask, reservation, reserved })
    this.#play.tell(decision)
  }

  /** Ends one, by how many ago it was made. `units`: undefined to cancel it. */
  async end(back: number, units: number | undefined): Promise<void> {
    const at = this.#made.length - 1 - back
    const [made] = at < 0 ? [] : this.#made.splice(at, 1)
    if (!made) return
    const state = this.#play.oracle.stateOf(made.reserved, this.#play.nowUs)
    // Whether it has ended by itself is not known: it may last a little longer than it was asked for.
    if (state === 'unknown') return void this.#made.push(made)
    await (units === undefined ? this.#cancel(made, state) : this.#commit(made, units, state))
    if (made.reserved) await this.#play.settled(made.ask)
  }

  async endAll(): Promise<void> {
    for (let left = this.#made.length; left > 0; left -= 1) await this.end(0, undefined)
  }

  async #cancel({ reservation, reserved }: Made, state: 'held' | 'over'): Promise<void> {
    const isGiven = await answered(reservation.cancel(), 'a cancelling')
    this.#play.tell(isGiven)
    if (isGiven) this.#case.refunds += 1
    this.#case.check(11, isGiven === (state === 'held'), () => `cancelling what is ${state} said ${isGiven}`)
    this.#play.oracle.endReservation(reserved)
    this.#case.check(11, (await reservation.commit(3)) === 0, () => 'counted after it was cancelled')
  }

  async #commit(made: Made, units: number, state: 'held' | 'over'): Promise<void> {
    const { reservation, reserved, ask } = made
    const { oracle } = this.#play
    oracle.endReservation(reserved)
    const total = await answered(reservation.commit(units), 'a commit')
    this.#play.tell(total)
    const again = await reservation.commit(units + 1)
    this.#case.check(11, again === total, () => `committed ${total}, and again ${again}`)
    if (!reserved) return this.#case.check(2, total === 0, () => `${total} of what was denied were counted`)
    // What was reserved is certain, the rest is taken as far as it fits.
    const certain = state === 'held' ? Math.min(units, ask.cost) : 0
    if (units < ask.cost && state === 'held') this.#case.refunds += 1
    this.#enter(reserved, certain)
    const rooms = reserved.lines.map((line) => oracle.room(line, this.#play.nowUs))
    const [least, most] = (['least', 'most'] as const).map((end) => {
      return certain + Math.min(units - certain, ...rooms.map((room) => room[end]))
    }) as [number, number]
    const says = (): string => `committed ${units} of ${ask.cost} ${state}: ${total}, not ${least}..${most}`
    this.#case.check(11, total >= least && total <= most, says)
    this.#enter(reserved, total - certain)
  }

  #enter({ ask, lines }: Reserved, units: number): void {
    if (units <= 0) return
    this.#play.oracle.take(ask, { lines, at: this.#play.nowUs, units })
    this.#play.judge.neverOver(lines, this.#play.nowUs)
  }
}
