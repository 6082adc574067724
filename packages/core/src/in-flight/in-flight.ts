import { clearTimeout, elapsedMs, setImmediate, setTimeout } from '../base/timers.js'
import { takesSlots, type Part, type Request } from '../requests/request.js'
import { isTaken } from '../requests/verdict.js'
import {
  SLOTS_KEPT_MS,
  type Answer,
  type LimitOutcome,
  type Outcome,
  type SlotHolder,
  type StoreRequest,
} from '../stores/contract.js'
import { LARGEST_BATCH } from '../stores/lane.js'
import { HeldSlots, type SlotsOwner } from './held-slots.js'
import { KeySlots } from './key-slots.js'

/** How often the slots of long requests are told again: three times before the store would drop them. */
const RENEW_AFTER_MS = 4500
const SWEEP_MS = 1000
/** How long slots that were given back wait for another request of their subject, which tells of them for nothing. */
const GATHER_MS = 5

export interface InFlightHost {
  /** Sends a request to the store that no caller waits for. `onAnswer` gets no outcome if there was none. */
  send(request: Request, onAnswer: (outcome: Outcome | undefined) => void): void
  /** Sends to a shard that is not asked for decisions yet. Never rejects. */
  charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]>
  /** Whether answers of the store are values. */
  readonly answersAtOnce: boolean
  /** Slots were told again that the store had lost, or may have lost. */
  onDeclaredAgain(subjects: number, slots: number): void
}

/**
 * Knows which requests of this process are in flight, for subjects whose plan limits that. Each key has one count. It goes
 * along with every request of the subject; otherwise it is told when requests have ended, and renewed while they last.
 */
export class InFlight implements SlotsOwner {
  readonly #holder: string
  readonly #host: InFlightHost
  readonly #keys = new Map<string, KeySlots>()
  /** How many slots were asked for: no store has given a higher number. */
  #asked = 0
  #held = 0
  /** Those to be told soon: at the end of this turn, or a little later. */
  readonly #due = new Set<KeySlots>()
  #isFlushing = false
  #gathering: NodeJS.Timeout | undefined
  #sweeping: NodeJS.Timeout | undefined
  #isEnded = false

  /** @param holder 6 letters, digits, `_` or `-`, of this process and limiter alone */
  constructor(holder: string, host: InFlightHost) {
    this.#holder = holder
    this.#host = host
  }

  /** Requests in flight that take a slot. One counts once for each of its keys. */
  get held(): number {
    return this.#held
  }

  /** The same request with the slots that it asks for, to be concluded once; if it asks for none, the request itself. */
  begin(request: Request): Request {
    if (!takesSlots(request)) return request
    const inFlight = new HeldSlots(this)
    const parts = request.parts.map((part) => {
      if (part.set.slots === undefined) return part
      const slots = this.#join(part, request.plan)
      inFlight.ask(slots)
      return { ...part, slots }
    })
    if (!request.steps) return { ...request, parts, inFlight }
    const of = (some: readonly Part[]): Part[] =>
      some.map((part) => parts[request.parts.indexOf(part)] ?? part)
    const steps = request.steps.map((step) => ({ ...step, parts: of(step.parts), inFlight }))
    return { ...request, parts, steps, inFlight }
  }

  /**
   * Learns from the store's answer to a request or a step that was begun.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started; not used where answers are values
   */
  learn({ parts, inFlight, grant }: Request, outcome: Outcome, sentAtMs: number): void {
    if (grant !== 'all') return
    const isGiven = isTaken(outcome)
    let next = 0
    for (const { slots, set, limits } of parts) {
      if (slots instanceof KeySlots && set.slots !== undefined) {
        slots.learn(outcome.limits[next + set.slots] as LimitOutcome, limits[set.slots]?.quota ?? 0)
        // A denial may have written nothing, so it renews nothing.
        if (isGiven) slots.given(this.#host.answersAtOnce ? elapsedMs() : sentAtMs)
        inFlight?.answered(slots, isGiven)
      }
      next += set.limits.length
    }
  }

  concluded(slots: KeySlots, isAllowed: boolean, isGiven: boolean | undefined): void {
    slots.pending -= 1
    // `learn` has counted a slot that the store gave.
    if (isAllowed && !isGiven) slots.held += 1
    if (!isAllowed && isGiven) slots.held -= 1
    if (isAllowed) this.#held += 1
    if (isAllowed !== isGiven) slots.isDirty = true
    this.#settle(slots)
  }

  released(slots: KeySlots): void {
    slots.held -= 1
    this.#held -= 1
    slots.isDirty = true
    this.#settle(slots)
  }

  /** Tells a shard that answers again of all that is in flight. */
  async recover(shard: number): Promise<void> {
    const all = [...this.#keys.values()].filter(({ part }) => part.shard === shard)
    for (let from = 0; from < all.length; from += LARGEST_BATCH) {
      await this.#declareAll(all.slice(from, from + LARGEST_BATCH))
    }
    this.#tellOf(all)
  }

  /** Tells of some keys anew, after the store has forgotten them. */
  declareAgain(keys: readonly string[]): void {
    for (const key of keys) {
      const slots = this.#keys.get(key)
      if (slots) this.#tell(slots, 'declare')
    }
  }

  /** Tells what is to be told. Nothing is renewed from then on. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#sweeping)
    this.#flush()
  }

  #join(part: Part, plan: Request['plan']): KeySlots {
    let slots = this.#keys.get(part.key)
    if (!slots) {
      slots = new KeySlots(this.#holder, this.#asked, part, plan)
      this.#keys.set(part.key, slots)
      this.#sweepLater()
    }
    slots.part = part
    slots.plan = plan
    slots.pending += 1
    this.#asked += 1
    // It tells of what has ended, too.
    slots.isDirty = false
    this.#due.delete(slots)
    return slots
  }

  #settle(slots: KeySlots): void {
    if (slots.isOver) this.#keys.delete(slots.part.key)
    // What is under way may be told of as well.
    else if (slots.isDirty && !slots.isDeclaring) this.#tellSoon(slots)
  }

  #tellSoon(slots: KeySlots): void {
    if (this.#host.answersAtOnce) return this.#tell(slots, 'release')
    this.#due.add(slots)
    if (slots.isTight && !this.#isFlushing) {
      this.#isFlushing = true
      setImmediate(this.#flush)
    } else this.#gathering ??= setTimeout(this.#flush, GATHER_MS)
  }

  readonly #flush = (): void => {
    this.#isFlushing = false
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    const due = [...this.#due]
    this.#due.clear()
    for (const slots of due) if (slots.isDirty && !slots.isDeclaring) this.#tell(slots, 'release')
  }

  #tell(slots: KeySlots, grant: 'declare' | 'release'): void {
    const told = slots.tell(grant)
    this.#host.send(messageOf(slots, told, grant), (outcome) => this.#confirm(slots, told, outcome))
  }

  async #declareAll(all: readonly KeySlots[]): Promise<void> {
    const told = all.map((slots) => slots.tell('declare'))
    const requests = all.map((slots, i) => messageOf(slots, told[i] as SlotHolder, 'declare'))
    const answers = await this.#host.charge(requests)
    all.forEach((slots, i) => {
      const answer = answers[i]
      this.#confirm(slots, told[i] as SlotHolder, answer && 'limits' in answer ? answer : undefined)
    })
  }

  #confirm(slots: KeySlots, told: SlotHolder, outcome: Outcome | undefined): void {
    slots.confirm(told, outcome?.limits[slots.part.set.slots as number])
    // Without an answer the sweep tries again, or `recover`.
    if (outcome) this.#settle(slots)
  }

  #sweepLater(): void {
    if (this.#sweeping || this.#isEnded) return
    this.#sweeping = setTimeout(this.#sweep, SWEEP_MS).unref()
  }

  /** Renews the slots of long requests, and repeats what was not answered. */
  readonly #sweep = (): void => {
    this.#sweeping = undefined
    const now = elapsedMs()
    // The process was stopped, or its event loop was blocked, so that it renewed nothing.
    this.#tellOf(
      [...this.#keys.values()].filter(({ toldAtMs }) => toldAtMs > 0 && now - toldAtMs > SLOTS_KEPT_MS),
    )
    for (const slots of this.#keys.values()) {
      const isOld = slots.held > 0 && now - slots.toldAtMs >= RENEW_AFTER_MS
      if ((isOld || slots.isDirty) && !slots.isDeclaring && !this.#due.has(slots))
        this.#tell(slots, 'declare')
    }
    if (this.#keys.size > 0) this.#sweepLater()
  }

  #tellOf(all: readonly KeySlots[]): void {
    const held = all.filter((slots) => slots.held > 0)
    if (held.length === 0) return
    this.#host.onDeclaredAgain(
      held.length,
      held.reduce((sum, slots) => sum + slots.held, 0),
    )
  }
}

function messageOf({ part, plan }: KeySlots, told: SlotHolder, grant: 'declare' | 'release'): Request {
  const { subject, limits, shard } = part
  const parts = [{ ...part, cost: 1, slots: told }]
  return { subject, plan, cost: 1, parts, limits, shard, grant }
}
