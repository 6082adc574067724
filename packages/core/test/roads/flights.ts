// The requests of a schedule that are in flight, and their ends.
import type { Decision } from '../../src/index.js'
import type { Charge } from './oracle.js'
import type { Play } from './play.js'
import type { Ask } from './schedule.js'
import type { Case } from './tally.js'

interface Flight {
  readonly ask: Ask
  readonly decision: Decision
  /** None if the oracle does not compute, as with a clock that goes back. */
  readonly charge: Charge | undefined
}

export class Flights {
  readonly #play: Play
  readonly #case: Case
  readonly #all: Flight[] = []

  constructor(play: Play, given: Case) {
    this.#play = play
    this.#case = given
  }

  begun(ask: Ask, decision: Decision, charge: Charge | undefined): void {
    this.#all.push({ ask, decision, charge })
  }

  /**
   * Ends requests at once, by how many of those in flight ago they began. Returns one request for each list of keys that
   * gave slots back.
   */
  end(back: readonly number[]): Ask[] {
    const ended = new Map<string, Ask>()
    for (const one of back) {
      const [flight] = this.#all.splice(Math.max(this.#all.length - 1 - one, 0), 1)
      if (!flight) continue
      this.#release(flight)
      ended.set(JSON.stringify(flight.charge?.slots), flight.ask)
    }
    ended.delete('[]')
    return [...ended.values()]
  }

  /** Ends a request that has a slot of one of these keys. Returns whether there was one. */
  endOneOf(keys: ReadonlySet<string>): boolean {
    const at = this.#all.findIndex(({ charge }) => charge?.slots.some((key) => keys.has(key)))
    const [flight] = at < 0 ? [] : this.#all.splice(at, 1)
    if (flight) this.#release(flight)
    return flight !== undefined
  }

  endAll(): Ask[] {
    return this.end(this.#all.map(() => 0))
  }

  #release({ decision, charge }: Flight): void {
    const isReleased = decision.release()
    this.#case.check(11, !decision.release(), () => 'slots were given back twice')
    if (!charge) return
    const has = charge.slots.length > 0
    this.#case.check(
      2,
      isReleased === has,
      () => `release said ${isReleased} of ${charge.slots.length} slots`,
    )
    this.#case.released += charge.slots.length
    this.#play.oracle.release(charge)
  }
}
