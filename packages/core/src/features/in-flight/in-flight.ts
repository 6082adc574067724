import { elapsedMs } from '../../base/timers.js'
import { takesSlots, type Part, type Request } from '../../requests/request.js'
import { isTaken } from '../../requests/verdict.js'
import type { LimitOutcome, Outcome, StoreRequest } from '../../stores/contract.js'
import { HeldSlots, type SlotsOwner, KeySlots } from './key-slots.js'
import { SlotReports, type SlotsHost } from './slot-reports.js'
import { SlotRounds } from './slot-rounds.js'

/**
 * Knows which requests of this process are in flight, for subjects whose plan limits that. Each key has one count. It goes
 * along with every request of the subject; where none follows, it is reported.
 */
export class InFlight implements SlotsOwner {
  readonly #holder: string
  readonly #answersAtOnce: boolean
  readonly #keys = new Map<string, KeySlots>()
  readonly #reports: SlotReports
  readonly #rounds: SlotRounds
  /** How many slots were asked for: no store has given a higher number. */
  #asked = 0
  #held = 0

  /** @param holder 6 letters, digits, `_` or `-`, of this process and limiter alone */
  constructor(holder: string, host: SlotsHost) {
    this.#holder = holder
    this.#answersAtOnce = host.answersAtOnce
    this.#reports = new SlotReports(this.#keys, host)
    this.#rounds = new SlotRounds(this.#keys, this.#reports, host)
  }

  /** Requests in flight that take a slot. One counts once for each of its keys. */
  get held(): number {
    return this.#held
  }

  /** What is remembered of each key, for tests. */
  get keys(): ReadonlyMap<string, KeySlots> {
    return this.#keys
  }

  /** The same request with the slots that it asks for, to be concluded once; if it asks for none, the request itself. */
  begin(request: Request): Request {
    if (!takesSlots(request)) return request
    const inFlight = new HeldSlots(this)
    const parts = request.parts.map((part) => {
      if (part.set.slots === undefined) return part
      const slots = this.#slotsOf(part, request.plan)
      inFlight.add(slots)
      return { ...part, slots }
    })
    if (!request.steps) return { ...request, parts, inFlight }
    const of = (some: readonly Part[]): Part[] =>
      some.map((part) => parts[request.parts.indexOf(part)] ?? part)
    const steps = request.steps.map((step) => ({ ...step, parts: of(step.parts), inFlight }))
    return { ...request, parts, steps, inFlight }
  }

  /** Called when a request that was begun, or a step of it, is sent to the store. */
  ask({ parts, inFlight }: Request): void {
    if (!(inFlight instanceof HeldSlots)) return
    for (const { slots } of parts) {
      if (!(slots instanceof KeySlots)) continue
      this.#asked += 1
      inFlight.ask(slots)
      this.#reports.asked(slots)
    }
  }

  /**
   * Learns from the store's answer to a request or a step.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started; not used where answers are values
   */
  learn(step: Request, outcome: Outcome, sentAtMs: number): void {
    const { parts, inFlight } = step
    if (!(inFlight instanceof HeldSlots)) return
    const isGiven = isTaken(outcome)
    const atMs = this.#answersAtOnce ? elapsedMs() : sentAtMs
    let isLate = false
    let next = 0
    for (const { slots, set } of parts) {
      if (slots instanceof KeySlots) {
        const own = outcome.limits[next + (set.slots as number)] as LimitOutcome
        slots.look(own)
        const isHeard = isGiven ? inFlight.granted(slots, own, atMs) : inFlight.denied(slots, own)
        if (!isHeard) isLate = true
      }
      next += set.limits.length
    }
    if (isLate) this.late([step])
  }

  /** The store took requests or reports that had no answer in time. */
  late(batch: readonly StoreRequest[]): void {
    for (const { parts, plan } of batch as readonly Request[]) {
      for (const part of parts) {
        if (!part.slots) continue
        const slots = this.#slotsOf(part, plan)
        slots.late()
        this.#reports.settle(slots)
      }
    }
  }

  /** Tells a shard that answers again of all that is in flight. `onTold` is called after half a second at the latest. */
  recover(shard: number, onTold: () => void): void {
    this.#rounds.recover(shard, onTold)
  }

  /** Tells of some keys anew, after the store has forgotten them. */
  declareAgain(keys: readonly string[]): void {
    this.#reports.declareAgain(keys)
  }

  /** Nothing is renewed from now on. What is to be told is told at once. */
  beginEnd(): void {
    this.#rounds.end()
    this.#reports.hurry()
  }

  /** Nothing is told from now on. */
  end(): void {
    this.#reports.end()
  }

  concluded(slots: KeySlots, isAllowed: boolean, isGiven: boolean): void {
    slots.pending -= 1
    if (isAllowed) this.#held += 1
    if (isAllowed !== isGiven) slots.hold(isAllowed ? 1 : -1)
    this.#reports.settle(slots)
  }

  released(slots: KeySlots): void {
    this.#held -= 1
    slots.hold(-1)
    this.#reports.settle(slots)
  }

  #slotsOf(part: Part, plan: Request['plan']): KeySlots {
    let slots = this.#keys.get(part.key)
    if (!slots) {
      slots = new KeySlots(this.#holder, this.#asked, part, plan)
      this.#keys.set(part.key, slots)
      this.#rounds.later()
    }
    slots.part = part
    slots.plan = plan
    return slots
  }
}
