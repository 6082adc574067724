import type { Fallback } from '../../failure/fallback.js'
import type { GiveBacks, GivenBack } from '../../failure/outbox/outbox.js'
import type { LeasedUnits, Verdict } from '../../requests/verdict.js'
import { refundOf } from '../../stores/receipts.js'
import type { Backing } from '../pipeline/backing.js'
import {
  heldParts,
  isHeld,
  isReserved,
  type Found,
  refundOfPlace,
  refundOfTaken,
} from '../holds/hold-reports.js'
import type { Part } from '../../requests/request.js'
import type { Holds } from '../holds/holds.js'

/** Gives units of a verdict back to where they were taken from: the store, the local limiter, a lease, or what is held. */
export class UnitsBack {
  readonly #fallback: Fallback
  readonly #giveBacks: GiveBacks
  readonly #holds: Holds
  readonly #clock: () => number
  #isOver = false

  /** @param clock the clock that leases end by, in ms */
  constructor(
    { fallback, giveBacks, holds }: Pick<Backing, 'fallback' | 'giveBacks' | 'holds'>,
    clock: () => number,
  ) {
    this.#clock = clock
    this.#fallback = fallback
    this.#giveBacks = giveBacks
    this.#holds = holds
  }

  /** Sends what is still to be sent. Nothing goes to the store from then on. */
  async end(): Promise<void> {
    await this.#giveBacks.end()
    this.#isOver = true
  }

  async give(verdict: Verdict, units: number): Promise<GivenBack> {
    const { source, step, outcome, uses = [] } = verdict
    if (isHeld(verdict)) return this.#giveHeld(verdict, units)
    if (source === 'lease') return this.#giveLeased(uses, units)
    // After the store was charged for a local decision, its units cannot be given back.
    if (source === 'local') return this.#fallback.refund(step, units) ? 'given' : 'unknown'
    // If the store counts the request late, its units go back then.
    this.#fallback.revoke(step)
    if (source !== 'store' || !outcome) return 'gone'
    if (this.#isOver) return 'unknown'
    return this.#giveBacks.give(refundOf(step, outcome, units))
  }

  /** Ends a hold. What is not given back counts as used now. */
  async #giveHeld(verdict: Verdict, units: number): Promise<GivenBack> {
    if (this.#isOver) return 'unknown'
    const { step, outcome } = verdict
    const taken = outcome && refundOfTaken(step, outcome, units)
    const others = taken ? this.#giveBacks.give(taken) : undefined
    const found = await this.#holds.reports.settle(verdict, step.cost - units)
    const over = heldParts(step).filter((_, i) => found[i] === 'over')
    const ended = over.length > 0 && !isReserved(verdict) && this.#giveEnded(verdict, over, units)
    const all = [...found.map(meaningOf), await others, await ended]
    return all.includes('unknown') ? 'unknown' : all.includes('given') ? 'given' : 'gone'
  }

  #giveEnded(verdict: Verdict, parts: readonly Part[], units: number): GivenBack | Promise<GivenBack> {
    return this.#isOver ? 'unknown' : this.#giveBacks.give(refundOfPlace(verdict, parts, units))
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

function meaningOf(found: Found): GivenBack {
  if (found === 'over' || found === 'lost') return 'gone'
  return found === 'ended' ? 'given' : 'unknown'
}
