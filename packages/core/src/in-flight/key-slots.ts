import { elapsedMs } from '../base/timers.js'
import type { Part, Request } from '../requests/request.js'
import type { LimitOutcome, SlotHolder } from '../stores/contract.js'

/** A share of the slots of a limit. With fewer left, others may be waiting for one. */
const TIGHT = 0.25

/** The slots that this process holds of one key. Requests carry this object, so they tell its numbers of when they leave. */
export class KeySlots implements SlotHolder {
  readonly id: string
  held = 0
  known: number
  /** How many requests are under way that ask for a slot. */
  pending = 0
  /** When the store last made the slots live on, or a little before, in ms since the process started. 0: never. */
  toldAtMs = 0
  /** Whether the store may have to be told anew: slots were given back, or a message may be lost. */
  isDirty = false
  /** Whether a message that no request waits for is under way: a declaration or a release. */
  isDeclaring = false
  /** Whether few slots were left, by the last answer. */
  isTight = false
  /** What messages are made of. */
  part: Part
  plan: Request['plan']

  /** @param known at least as high as any number that the store gave this holder for the key */
  constructor(id: string, known: number, part: Part, plan: Request['plan']) {
    this.id = id
    this.known = known
    this.part = part
    this.plan = plan
  }

  /** Whether nothing is left to tell or to wait for. */
  get isOver(): boolean {
    return this.held === 0 && this.pending === 0 && !this.isDirty && !this.isDeclaring
  }

  /** Learns from the store's answer to a request. Answers come in the order in which the store gave them. */
  learn({ slot = 0, remaining }: LimitOutcome, quota: number): void {
    this.known = Math.max(this.known, slot)
    this.isTight = remaining <= quota * TIGHT
  }

  /** The store has given a slot to a request that was sent then. */
  given(sentAtMs: number): void {
    this.held += 1
    this.toldAtMs = Math.max(this.toldAtMs, sentAtMs)
  }

  /** What a message tells: the numbers of now. It is under way until `confirm`. A declaration makes the slots live on, too. */
  tell(grant: 'declare' | 'release'): SlotHolder {
    this.isDirty = false
    this.isDeclaring = true
    if (grant === 'declare') this.toldAtMs = elapsedMs()
    const { id, held, known } = this
    return { id, held, known }
  }

  /** The answer to a message; undefined if there was none. */
  confirm(told: SlotHolder, outcome: LimitOutcome | undefined): void {
    this.isDeclaring = false
    if (!outcome) {
      this.isDirty = true
      return
    }
    const { slot = 0 } = outcome
    this.learn(outcome, this.part.limits[this.part.set.slots as number]?.quota ?? 0)
    // A slot that nobody heard of was given to a request whose answer is lost, unless its answer is still to come.
    if (told.held !== this.held || slot > told.known) this.isDirty = true
  }
}
