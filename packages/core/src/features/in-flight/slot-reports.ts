import { clearTimeout, setImmediate, setTimeout } from '../../base/timers.js'
import type { FeatureHost } from '../../requests/feature.js'
import { messageAbout, type Request } from '../../requests/request.js'
import type { Outcome } from '../../stores/contract.js'
import type { KeySlots, Report } from './key-slots.js'

/** How long slots that were given back wait for another request of their subject, which reports them at no cost. */
const GATHER_MS = 5
/** How many keys are reported in one turn of the event loop. */
const KEYS_A_TURN = 1000

/** This process reported its requests in flight to the store again, since the store may have dropped them. */
export interface InFlightChange {
  readonly kind: 'declared'
  /** How many subjects, each counted once for its plan, for each group and for each stacked limit. */
  readonly subjects: number
  /** How many of their requests are in flight, counted in the same way. */
  readonly slots: number
}

export type InFlightHost = Omit<FeatureHost<{ inFlight: InFlightChange }>, 'refund'>

/** Reports slots that no request carries, soon after some were given back. Forgets keys of which nothing is left. */
export class SlotReports {
  readonly #keys: Map<string, KeySlots>
  readonly #host: InFlightHost
  /** Those to be reported soon: at the end of this turn, or a little later. */
  readonly #due = new Set<KeySlots>()
  #isFlushing = false
  #gathering: NodeJS.Timeout | undefined
  #isHurried = false
  #isEnded = false

  constructor(keys: Map<string, KeySlots>, host: InFlightHost) {
    this.#keys = keys
    this.#host = host
  }

  /** A request is sent, which reports the key. */
  asked(slots: KeySlots): void {
    if (!slots.isDue) this.#due.delete(slots)
  }

  /** Something has changed: forgets the key, or reports it soon, if necessary. */
  settle(slots: KeySlots): void {
    const isOver = slots.isIdle && (this.#isEnded || !slots.isUnreported || !slots.isSent)
    if (isOver) this.forget(slots)
    else if (this.#mustSend(slots)) this.#sendSoon(slots)
  }

  /** Sends a report of the numbers of now. `onAnswer` is called in any case. */
  send(slots: KeySlots, grant: Report['grant'], onAnswer = (): void => {}): void {
    const report = this.#report(slots, grant)
    this.#host.send(createRequest(slots, report), (outcome) => {
      this.#answered(slots, report, outcome)
      onAnswer()
    })
  }

  /** Declares slots to a shard that is not asked for decisions yet. `onAnswers` is called in any case. */
  charge(some: readonly KeySlots[], onAnswers: () => void): void {
    const reports = some.map((slots) => this.#report(slots, 'declare'))
    const requests = some.map((slots, i) => createRequest(slots, reports[i] as Report))
    this.#host.charge(requests, (answers) => {
      some.forEach((slots, i) => {
        const answer = answers[i]
        this.#answered(slots, reports[i] as Report, answer && 'limits' in answer ? answer : undefined)
      })
      onAnswers()
    })
  }

  /** Declares some keys after the store has forgotten them. */
  declareAgain(keys: readonly string[]): void {
    for (const key of keys) {
      const slots = this.#keys.get(key)
      slots?.change()
      if (slots && !this.#host.isRefused(slots.part.shard)) this.send(slots, 'declare')
    }
  }

  forget(slots: KeySlots): void {
    this.#keys.delete(slots.part.key)
    this.#due.delete(slots)
  }

  /** Sends all that is due. From now on, reports are sent at once. */
  hurry(): void {
    this.#isHurried = true
    while (this.#due.size > 0) this.#flush()
  }

  /** Nothing is sent from now on. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#gathering)
    this.#due.clear()
  }

  #mustSend({ isDue, part }: KeySlots): boolean {
    return isDue && !this.#isEnded && !this.#host.isRefused(part.shard)
  }

  #sendSoon(slots: KeySlots): void {
    if (this.#host.answersAtOnce || this.#isHurried) return this.send(slots, 'release')
    this.#due.add(slots)
    if (slots.isTight) this.#flushSoon()
    else this.#gathering ??= setTimeout(this.#flush, GATHER_MS)
  }

  #flushSoon(): void {
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(this.#flush)
  }

  readonly #flush = (): void => {
    this.#isFlushing = false
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    let left = KEYS_A_TURN
    for (const slots of this.#due) {
      if (left === 0) return this.#flushSoon()
      left -= 1
      this.#due.delete(slots)
      if (this.#mustSend(slots)) this.send(slots, 'release')
    }
  }

  #report(slots: KeySlots, grant: Report['grant']): Report {
    this.#due.delete(slots)
    return slots.report(grant)
  }

  #answered(slots: KeySlots, report: Report, outcome: Outcome | undefined): void {
    slots.reported(report, outcome?.limits[slots.part.set.inFlightIndex as number])
    // Without an answer the next round tries again.
    if (outcome) this.settle(slots)
  }
}

function createRequest({ part, plan }: KeySlots, { id, held, known, grant }: Report): Request {
  return messageAbout(part, plan, { grant, slots: { id, held, known } })
}
