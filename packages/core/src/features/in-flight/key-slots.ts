import { elapsedMs } from '../../base/timers.js'
import type { Part, Request, RequestSlots } from '../../requests/request.js'
import type { LimitOutcome, Outcome, SlotHolder } from '../../stores/contract.js'
import { SlotNumbers } from './slot-numbers.js'

/** A share of the slots of a limit. With fewer left, others may be waiting for one. */
const TIGHT = 0.25

/** A message about slots that no request carries: the numbers as of when it was made. */
export interface Report extends SlotHolder {
  readonly grant: 'declare' | 'release'
  /** When it was made, as KeySlots counts time, and in ms since the process started. */
  readonly at: number
  readonly atMs: number
}

/**
 * The slots that this process holds under one key. Requests carry this object, and so its numbers as of when they are sent.
 *
 * Requests and reports can reach the store in any order, and their answers come in any order. By the rules of SlotHolder the
 * store never counts fewer slots than it gave and are in use. But its count can be what an older request carried. So if answers
 * show that the order may have been another, one more report is sent as soon as nothing else is under way.
 */
export class KeySlots implements SlotHolder {
  readonly id: string
  held = 0
  /** How many undecided requests hold this object. */
  pending = 0
  /** When the store last renewed the slots, or a little before, in ms since the process started. 0: never. */
  renewedAtMs = 0
  /** When a request or report last had no answer, in ms since the process started. 0: never. */
  failedAtMs = 0
  /** Whether the last answer said that few slots are left. */
  isTight = false
  /** Whether the store may have a row: something was sent to it. */
  isSent = false
  /** What reports are made of. */
  part: Part
  plan: Request['plan']
  readonly #numbers: SlotNumbers
  /** Counts requests, reports and changes, so that each of them has a time. */
  #now = 0
  /** The last change that the store does not know of by itself. */
  #changedAt = 0
  /** The newest request or report that the store has taken, and the newest that has any answer. */
  #confirmedAt = 0
  #heardAt = 0
  /** Whether the last change is to be reported, since no request under way carries it. */
  #isDirty = false
  /** Whether a request that carried the last change was denied. The store need not keep what a denied request carries. */
  #isRefused = false
  /** Whether the store may have taken something older last. */
  #isDoubtful = false
  #reports = 0
  /** Whether nothing else was under way when the current report was made. */
  #isAlone = false

  /** @param from as high as any number that the store gave this holder for the key */
  constructor(id: string, from: number, part: Part, plan: Request['plan']) {
    this.id = id
    this.#numbers = new SlotNumbers(from)
    this.part = part
    this.plan = plan
  }

  get known(): number {
    return this.#numbers.known
  }

  get isReporting(): boolean {
    return this.#reports > 0
  }

  /** Whether a report is to be made, sooner or later. */
  get isUnreported(): boolean {
    return this.#isDirty || this.#isDoubtful
  }

  /** Whether it is to be made now. What is only in doubt waits until nothing else is under way. */
  get isDue(): boolean {
    return !this.isReporting && (this.#isDirty || (this.#isDoubtful && this.#numbers.requests === 0))
  }

  /** Whether nothing is held, and nothing is under way. */
  get isIdle(): boolean {
    return this.held === 0 && this.pending === 0 && this.#numbers.requests === 0 && this.#reports === 0
  }

  /** A request that asks for a slot is sent. Returns its time. */
  ask(): number {
    this.#numbers.begin()
    // It carries what has ended, too.
    if (!this.#isRefused) this.#isDirty = false
    this.isSent = true
    return (this.#now += 1)
  }

  /**
   * The store has given a slot.
   *
   * @param at       the time of its request
   * @param sentAtMs when that was sent, in ms since the process started
   */
  granted(at: number, { slot = 0 }: LimitOutcome, sentAtMs: number): void {
    this.held += 1
    this.renewedAtMs = Math.max(this.renewedAtMs, sentAtMs)
    // The next slot has the next number.
    if (slot <= this.#numbers.highest) this.#isDoubtful = true
    this.#numbers.hear(slot, this.#now)
    this.#confirm(at, slot)
    this.#end(at)
  }

  /** The store has given no slot. It may have kept what the request carried, or not. */
  denied(at: number, { slot = 0 }: LimitOutcome): void {
    this.#heard(at, slot)
    if (at < this.#changedAt) this.#isDoubtful ||= this.#reports > 0
    else if (this.#confirmedAt < this.#changedAt) this.#isDirty = this.#isRefused = true
    this.#end(at)
  }

  /** A request has no answer in time. The store may take it, or not. */
  failed(at: number): void {
    this.#fail()
    this.#end(at)
  }

  /** The store took a request or report that had no answer in time. What that carried may be older than what came since. */
  late(): void {
    this.isSent = true
    this.#fail()
  }

  /** More are held, or fewer, than the store knows by itself. */
  hold(more: 1 | -1): void {
    this.held += more
    this.change()
  }

  /** What the store counts may be wrong, whatever was reported until now. */
  change(): void {
    this.#changedAt = this.#now += 1
    this.#isDirty = true
  }

  /** Makes a report of the numbers of now. It is under way until `reported`. */
  report(grant: Report['grant']): Report {
    this.#isAlone = this.#reports === 0 && this.#numbers.requests === 0
    this.#isDirty = this.#isRefused = false
    this.isSent = true
    this.#reports += 1
    const { id, held, known } = this
    return { id, held, known, grant, at: (this.#now += 1), atMs: elapsedMs() }
  }

  /** The answer to a report; undefined if there was none. */
  reported({ grant, at, atMs }: Report, outcome: LimitOutcome | undefined): void {
    this.#reports -= 1
    if (!outcome) return this.#fail()
    if (grant === 'declare') this.renewedAtMs = Math.max(this.renewedAtMs, atMs)
    this.#confirm(at, outcome.slot ?? 0)
    if (this.#isAlone && at === this.#now) this.#isDoubtful = false
    if (this.#numbers.giveUp(this.#now)) this.change()
  }

  /** Notes how many slots were left, of how many. */
  look({ remaining }: LimitOutcome): void {
    const quota = this.part.limits[this.part.set.inFlightIndex as number]?.quota ?? 0
    this.isTight = remaining <= quota * TIGHT
  }

  /** All that it knows, for tests. Times and numbers are relative to those of now. */
  state(): readonly unknown[] {
    const times = [this.#changedAt, this.#confirmedAt, this.#heardAt].map((time) => time - this.#now)
    return [
      ...[this.held, this.pending, this.isSent, this.#reports, times, this.#numbers.state()],
      ...[this.#isDirty, this.#isRefused, this.#isDoubtful, this.#isAlone],
    ]
  }

  #confirm(at: number, number: number): void {
    this.#heard(at, number)
    if (at < this.#confirmedAt) return
    this.#confirmedAt = at
    if (at > this.#changedAt) this.#isDirty = this.#isRefused = false
  }

  /** An answer shows that the store has given all numbers up to this one. */
  #heard(at: number, number: number): void {
    if (at < this.#heardAt || number < this.#numbers.highest) this.#isDoubtful = true
    this.#heardAt = Math.max(this.#heardAt, at)
    this.#numbers.notice(number, this.#now)
  }

  #end(at: number): void {
    if (this.#numbers.end(at, this.#now)) this.change()
  }

  #fail(): void {
    this.failedAtMs = elapsedMs()
    this.change()
  }
}

/** What counts the slots that are held. */
export interface SlotsOwner {
  /** As RequestSlots. */
  sent(inFlight: HeldSlots, step: Request): void
  answered(inFlight: HeldSlots, step: Request, outcome: Outcome, sentAtMs: number): void
  /**
   * A request is decided.
   *
   * @param isHeld  whether it is in flight, and counted
   * @param isGiven whether the store gave it a slot
   */
  concluded(slots: KeySlots, isHeld: boolean, isGiven: boolean): void
  released(slots: KeySlots): void
}

/** What became of a request's slot of one key. Numbers above these are the time at which the store was asked. */
const NOT_ASKED = 0
const GIVEN = -1
const NOT_GIVEN = -2
const NOT_COUNTED = -3

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

  sent(step: Request): void {
    this.#owner.sent(this, step)
  }

  answered(step: Request, outcome: Outcome, sentAtMs: number): void {
    this.#owner.answered(this, step, outcome, sentAtMs)
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
   * The store has given a slot. Returns false if the request was decided before: then no request has the slot.
   *
   * @param sentAtMs when it was asked, in ms since the process started
   */
  granted(slots: KeySlots, outcome: LimitOutcome, sentAtMs: number): boolean {
    // The limit only observes and is full. The request then runs without a slot.
    if (outcome.wouldWait !== undefined) return this.#refused(slots, outcome, NOT_COUNTED)
    const at = this.#answeredBy(slots, GIVEN)
    if (at > NOT_ASKED) slots.granted(at, outcome, sentAtMs)
    return at > NOT_ASKED
  }

  /** The store has given no slot. Returns false if the request was decided before. */
  denied(slots: KeySlots, outcome: LimitOutcome): boolean {
    return this.#refused(slots, outcome, NOT_GIVEN)
  }

  #refused(slots: KeySlots, outcome: LimitOutcome, how: number): boolean {
    const at = this.#answeredBy(slots, how)
    if (at > NOT_ASKED) slots.denied(at, outcome)
    return at > NOT_ASKED
  }

  /** Called when the request is decided. Only the first call counts. A request that was let in is in flight, whatever decided it. */
  conclude(isAllowed: boolean): void {
    if (this.#isConcluded) return
    this.#isConcluded = true
    this.#isHeld = isAllowed
    for (const [i, slots] of this.#all.entries()) {
      const at = this.#asked[i] as number
      if (at !== NOT_COUNTED) this.#asked[i] = NOT_ASKED
      if (at > NOT_ASKED) slots.failed(at)
      this.#owner.concluded(slots, isAllowed && at !== NOT_COUNTED, at === GIVEN)
    }
  }

  /** Gives the slots back. Returns whether there were any: true once. */
  release(): boolean {
    if (!this.#isHeld) return false
    this.#isHeld = false
    let hasReleased = false
    for (const [i, slots] of this.#all.entries()) {
      if (this.#asked[i] === NOT_COUNTED) continue
      this.#owner.released(slots)
      hasReleased = true
    }
    return hasReleased
  }

  #answeredBy(slots: KeySlots, how: number): number {
    const i = this.#all.indexOf(slots)
    const at = this.#asked[i] as number
    if (at > NOT_ASKED) this.#asked[i] = how
    return at
  }
}
