import type { Fallback } from '../failure/fallback.js'
import type { GiveBacks, GivenBack } from '../failure/give-backs.js'
import type { LeasedUnits, Verdict } from '../requests/verdict.js'
import { refundOf } from '../stores/receipts.js'

/** Gives units of a verdict back to where they were taken from: the store, the local limiter, or a lease. */
export class UnitsBack {
  readonly #fallback: Fallback
  readonly #giveBacks: GiveBacks
  readonly #clock: () => number
  #isOver = false

  /** @param clock the clock that leases end by, in ms */
  constructor(fallback: Fallback, giveBacks: GiveBacks, clock: () => number) {
    this.#clock = clock
    this.#fallback = fallback
    this.#giveBacks = giveBacks
  }

  /** Sends what is still to be sent. Nothing goes to the store from then on. */
  async end(): Promise<void> {
    await this.#giveBacks.end()
    this.#isOver = true
  }

  async give({ source, step, outcome, uses = [] }: Verdict, units: number): Promise<GivenBack> {
    if (source === 'lease') return this.#giveLeased(uses, units)
    // After the store was charged for a local decision, its units cannot be given back.
    if (source === 'local') return this.#fallback.refund(step, units) ? 'given' : 'unknown'
    // If the store counts the request late, its units go back then.
    this.#fallback.revoke(step)
    if (source !== 'store' || !outcome) return 'gone'
    if (this.#isOver) return 'unknown'
    return this.#giveBacks.give(refundOf(step, outcome, units))
  }

  async #giveLeased(uses: readonly LeasedUnits[], units: number): Promise<GivenBack> {
    const nowMs = this.#clock()
    const all = await Promise.all(
      uses.map((use): GivenBack | Promise<GivenBack> => {
        const given = use.giveBack(units, nowMs)
        if (given === true) return 'given'
        if (given === undefined) return 'gone'
        return this.#isOver ? 'unknown' : this.#giveBacks.give(given)
      }),
    )
    return all.includes('unknown') ? 'unknown' : all.includes('given') ? 'given' : 'gone'
  }
}
