import type { RequestSlots } from '../requests/request.js'
import type { KeySlots } from './key-slots.js'

/** What gives slots back, and learns what became of requests that asked for some. */
export interface SlotsOwner {
  /** @param isGiven what the store said of the slot; undefined: no answer is known */
  concluded(slots: KeySlots, isAllowed: boolean, isGiven: boolean | undefined): void
  released(slots: KeySlots): void
}

/** The slots of one request: one of each key that counts requests in flight. */
export class HeldSlots implements RequestSlots {
  readonly #owner: SlotsOwner
  readonly #asked: KeySlots[] = []
  /** Of each, whether the store has given it; undefined: not known. */
  readonly #given: (boolean | undefined)[] = []
  #isHeld = false
  #isConcluded = false

  constructor(owner: SlotsOwner) {
    this.#owner = owner
  }

  ask(slots: KeySlots): void {
    this.#asked.push(slots)
    this.#given.push(undefined)
  }

  /** @param isGiven whether the store gave the slot */
  answered(slots: KeySlots, isGiven: boolean): void {
    this.#given[this.#asked.indexOf(slots)] = isGiven
  }

  /** Called when the request is decided: only the first call counts. One that was let in is in flight, whoever decided it. */
  conclude(isAllowed: boolean): void {
    if (this.#isConcluded) return
    this.#isConcluded = true
    this.#isHeld = isAllowed
    for (let i = 0; i < this.#asked.length; i += 1)
      this.#owner.concluded(this.#asked[i] as KeySlots, isAllowed, this.#given[i])
  }

  /** Gives the slots back. Returns whether there were any: true once. */
  release(): boolean {
    if (!this.#isHeld) return false
    this.#isHeld = false
    for (const slots of this.#asked) this.#owner.released(slots)
    return true
  }
}
