import type { Part, RequestSlots } from '../requests/request.js'
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
  readonly #asked = new Map<Part, KeySlots>()
  /** Those that the store has given, or refused. */
  readonly #answered = new Map<KeySlots, boolean>()
  #held: readonly KeySlots[] = []
  #isConcluded = false

  constructor(owner: SlotsOwner) {
    this.#owner = owner
  }

  ask(part: Part, slots: KeySlots): void {
    this.#asked.set(part, slots)
  }

  /** @param isGiven whether the store gave the slot */
  answered(slots: KeySlots, isGiven: boolean): void {
    this.#answered.set(slots, isGiven)
  }

  /** Called when the request is decided: only the first call counts. One that was let in is in flight, whoever decided it. */
  conclude(isAllowed: boolean): void {
    if (this.#isConcluded) return
    this.#isConcluded = true
    const all = [...this.#asked.values()]
    for (const slots of all) this.#owner.concluded(slots, isAllowed, this.#answered.get(slots))
    if (isAllowed) this.#held = all
  }

  /** Gives the slots back. Returns whether there were any: true once. */
  release(): boolean {
    const held = this.#held
    this.#held = []
    for (const slots of held) this.#owner.released(slots)
    return held.length > 0
  }
}
