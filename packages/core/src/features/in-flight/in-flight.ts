import { elapsedMs } from '../../base/timers.js'
import type { Feature, ForgetReason } from '../../requests/feature.js'
import { type Part, type Request, isTaken, takesSlots } from '../../requests/request.js'
import type { LimitOutcome, Outcome, StoreRequest } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { HeldSlots, type SlotsOwner, KeySlots } from './key-slots.js'
import { type InFlightHost, SlotReports } from './slot-reports.js'
import { SlotRounds } from './slot-rounds.js'

/**
 * Knows which requests of this process are in flight, for subjects whose plan limits that. Each key has one count, which
 * every request of the subject carries to the store. If no request follows, it is reported by itself.
 */
export class InFlight implements Feature, SlotsOwner {
  readonly #holder: string
  readonly #answersAtOnce: boolean
  readonly #keys = new Map<string, KeySlots>()
  readonly #reports: SlotReports
  readonly #rounds: SlotRounds
  /** How many slots were asked for. No store has given a higher number. */
  #asked = 0
  #held = 0

  /** @param holder 6 letters, digits, `_` or `-`, of this process and limiter alone */
  constructor(holder: string, host: InFlightHost) {
    this.#holder = holder
    this.#answersAtOnce = host.answersAtOnce
    this.#reports = new SlotReports(this.#keys, host)
    this.#rounds = new SlotRounds(this.#keys, this.#reports, host)
  }

  /** Requests in flight that take a slot. One counts once for each of its keys. */
  stats(): { readonly inFlight: number } {
    return { inFlight: this.#held }
  }

  /** What is remembered of each key, for tests. */
  get keys(): ReadonlyMap<string, KeySlots> {
    return this.#keys
  }

  /** The request with the slots that it asks for, or unchanged if it asks for none. The caller concludes the slots once. */
  prepare(request: Request): Request {
    if (!takesSlots(request)) return request
    const inFlight = new HeldSlots(this)
    const parts = request.parts.map((part) => {
      if (part.set.inFlightIndex === undefined) return part
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

  sent(inFlight: HeldSlots, { parts }: Request): void {
    for (const { slots } of parts) {
      if (!(slots instanceof KeySlots)) continue
      this.#asked += 1
      inFlight.ask(slots)
      this.#reports.asked(slots)
    }
  }

  answered(inFlight: HeldSlots, step: Request, outcome: Outcome, sentAtMs: number): void {
    const { parts } = step
    const isGiven = isTaken(outcome)
    const atMs = this.#answersAtOnce ? elapsedMs() : sentAtMs
    let isLate = false
    for (const [{ slots, set }, limits] of limitsByPart(parts, outcome.limits)) {
      if (!(slots instanceof KeySlots)) continue
      const own = limits[set.inFlightIndex as number] as LimitOutcome
      slots.look(own)
      const isHeard = isGiven ? inFlight.granted(slots, own, atMs) : inFlight.denied(slots, own)
      if (!isHeard) isLate = true
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

  /** Reports all that is in flight. Calls `onDone` after half a second at the latest. */
  recover(shard: number, onDone: () => void): void {
    this.#rounds.recover(shard, onDone)
  }

  forget(reason: ForgetReason, keys: readonly string[] = []): void {
    if (reason === 'reset' || reason === 'perhaps-reset') this.#reports.declareAgain(keys)
  }

  /** Renews nothing from now on, and reports at once. */
  stop(): void {
    this.#rounds.end()
    this.#reports.hurry()
  }

  /** Reports nothing from now on. */
  end(): void {
    this.#reports.end()
  }

  concluded(slots: KeySlots, isHeld: boolean, isGiven: boolean): void {
    slots.pending -= 1
    if (isHeld) this.#held += 1
    if (isHeld !== isGiven) slots.hold(isHeld ? 1 : -1)
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
