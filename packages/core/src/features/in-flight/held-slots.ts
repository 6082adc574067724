import type { RequestSlots } from '../../requests/request.js'
import type { LimitOutcome } from '../../stores/contract.js'
import type { KeySlots } from './key-slots.js'

/** What counts the slots that are held. */
export interface SlotsOwner {
  /**
   * A request is decided.
   *
   * @param isGiven whether the store gave it a slot
   */
  concluded(slots: KeySlots, isAllowed: boolean, isGiven: boolean): void
  released(slots: KeySlots): void
}

/** What became of a request's slot of one key; greater numbers are the time at which the store was asked. */
const NOT_ASKED = 0
const GIVEN = -1
const NOT_GIVEN = -2

/** The slots of one request: one of each key that counts requests in flight. */
export class HeldSlots implements RequestSlots {
  readonly #owner: SlotsOwner
  readonly #all: KeySlots[] = []
  readonly #asked: number[] = []
  #isHeld = false
  #isConcluded = false

  constructor(owner: SlotsOwner) {
    this.#owner = owner
  }

  add(slots: KeySlots): void {
    slots.pending += 1
    this.#all.push(slots)
    this.#asked.push(NOT_ASKED)
  }

  /** The store is being asked for a slot. */
  ask(slots: KeySlots): void {
    this.#asked[this.#all.indexOf(slots)] = slots.ask()
  }

  /**
   * The store has given a slot. Returns false if the request was decided before: then the slot is nobody's.
   *
   * @param sentAtMs when it was asked, in ms since the process started
   */
  given(slots: KeySlots, outcome: LimitOutcome, sentAtMs: number): boolean {
    const at = this.#answered(slots, GIVEN)
    if (at > NOT_ASKED) slots.given(at, outcome, sentAtMs)
    return at > NOT_ASKED
  }

  /** The store has given no slot. Returns as `given` does. */
  denied(slots: KeySlots, outcome: LimitOutcome): boolean {
    const at = this.#answered(slots, NOT_GIVEN)
    if (at > NOT_ASKED) slots.denied(at, outcome)
    return at > NOT_ASKED
  }

  /** Called when the request is decided: only the first call counts. One that was let in is in flight, whoever decided it. */
  conclude(isAllowed: boolean): void {
    if (this.#isConcluded) return
    this.#isConcluded = true
    this.#isHeld = isAllowed
    for (const [i, slots] of this.#all.entries()) {
      const at = this.#asked[i] as number
      this.#asked[i] = NOT_ASKED
      if (at > NOT_ASKED) slots.failed(at)
      this.#owner.concluded(slots, isAllowed, at === GIVEN)
    }
  }

  /** Gives the slots back. Returns whether there were any: true once. */
  release(): boolean {
    if (!this.#isHeld) return false
    this.#isHeld = false
    for (const slots of this.#all) this.#owner.released(slots)
    return true
  }

  #answered(slots: KeySlots, how: number): number {
    const i = this.#all.indexOf(slots)
    const at = this.#asked[i] as number
    if (at > NOT_ASKED) this.#asked[i] = how
    return at
  }
}
