import { clearTimeout, elapsedMs, setImmediate, setTimeout } from '../../base/timers.js'
import { SLOTS_KEPT_MS } from '../../stores/contract.js'
import { LARGEST_BATCH } from '../../stores/batcher.js'
import type { KeySlots } from './key-slots.js'
import type { InFlightHost, SlotReports } from './slot-reports.js'

/** How often the slots of long requests are reported again, in ms: three times before the store would drop them. */
const RENEW_AFTER_MS = 4500
const SWEEP_MS = 1000
/** How many keys one turn of the event loop goes through. */
const KEYS_A_TURN = 1000
/**
 * How long slots are reported to a shard that answers again before it decides requests, in ms. The rest is reported while it
 * decides.
 */
const LONGEST_RECOVERY_MS = 500

/** One pass through the keys. */
interface Round {
  isDue(slots: KeySlots): boolean
  /** Declares some keys. `onAnswers` is called when all are answered. */
  declare(some: readonly KeySlots[], onAnswers: () => void): void
  /** When to stop, in ms since the process started. */
  readonly untilMs: number
}

/**
 * Goes through all keys every second, to renew slots that last and to repeat reports without an answer, and when a shard answers
 * again. Forgets keys with nothing left to report. Works in batches, so that many keys block neither the event loop nor the store.
 */
export class SlotRounds {
  readonly #keys: ReadonlyMap<string, KeySlots>
  readonly #reports: SlotReports
  readonly #host: InFlightHost
  /** When each shard began to answer again: what was reported before may be lost. */
  readonly #answersSinceMs = new Map<number, number>()
  #sweeping: NodeJS.Timeout | undefined
  #isSweeping = false
  #isEnded = false

  constructor(keys: ReadonlyMap<string, KeySlots>, reports: SlotReports, host: InFlightHost) {
    this.#keys = keys
    this.#reports = reports
    this.#host = host
  }

  /** Starts to go through the keys after `ms`, and repeats that as long as there are any. */
  later(ms = SWEEP_MS): void {
    if (this.#isEnded || this.#isSweeping) return
    if (ms === 0) clearTimeout(this.#sweeping)
    else if (this.#sweeping) return
    this.#sweeping = setTimeout(this.#sweep, ms).unref()
  }

  /** Reports all that is in flight to a shard that answers again. Calls `onDone` after half a second at the latest. */
  recover(shard: number, onDone: () => void): void {
    const sinceMs = elapsedMs()
    this.#answersSinceMs.set(shard, sinceMs)
    const isDue = (slots: KeySlots): boolean => slots.part.shard === shard && this.#isDue(slots, sinceMs)
    const declare = (some: readonly KeySlots[], onAnswers: () => void): void =>
      this.#reports.charge(some, onAnswers)
    const untilMs = sinceMs + LONGEST_RECOVERY_MS
    this.#goThrough({ isDue, declare, untilMs }, (isDone) => {
      if (!isDone) this.later(0)
      onDone()
    })
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#sweeping)
  }

  /** Renews the slots of long requests, and repeats what was not answered. */
  readonly #sweep = (): void => {
    this.#sweeping = undefined
    this.#isSweeping = true
    const nowMs = elapsedMs()
    const isDue = (slots: KeySlots): boolean =>
      this.#isDue(slots, nowMs) && !this.#isEnded && !this.#host.isRefused(slots.part.shard)
    const declare = (some: readonly KeySlots[], onAnswers: () => void): void => {
      let left = some.length
      for (const slots of some) this.#reports.send(slots, 'declare', () => (left -= 1) === 0 && onAnswers())
    }
    this.#goThrough({ isDue, declare, untilMs: Infinity }, () => {
      this.#isSweeping = false
      if (this.#keys.size > 0) this.later()
    })
  }

  #isDue(slots: KeySlots, nowMs: number): boolean {
    const { isUnreported, isReporting, held, renewedAtMs } = slots
    if (isReporting) return false
    return (
      isUnreported || (held > 0 && (nowMs - renewedAtMs >= RENEW_AFTER_MS || this.#mayBeLost(slots, nowMs)))
    )
  }

  /** Whether the store may have dropped slots since they were reported. */
  #mayBeLost({ renewedAtMs, part }: KeySlots, nowMs: number): boolean {
    // The process was paused, or its event loop was blocked, so it renewed nothing.
    const isOld = renewedAtMs > 0 && nowMs - renewedAtMs > SLOTS_KEPT_MS
    return isOld || renewedAtMs < (this.#answersSinceMs.get(part.shard) ?? 0)
  }

  /** Declares the keys that are due: one batch after another, each when the one before is answered. */
  #goThrough({ isDue, declare, untilMs }: Round, onEnd: (isDone: boolean) => void): void {
    const keys = this.#keys.values()
    let [subjects, held] = [0, 0]
    const end = (isDone: boolean): void => {
      if (subjects > 0) this.#host.emit('inFlight', { kind: 'declared', subjects, slots: held })
      onEnd(isDone)
    }
    const goOn = (): void => {
      const nowMs = elapsedMs()
      if (nowMs >= untilMs) return end(false)
      const some: KeySlots[] = []
      for (let i = 0; i < KEYS_A_TURN && some.length < LARGEST_BATCH; i += 1) {
        const { value: slots, done } = keys.next()
        if (done === true) return some.length > 0 ? declare(some, () => end(true)) : end(true)
        if (isGone(slots, nowMs)) this.#reports.forget(slots)
        else if (!isDue(slots)) continue
        else some.push(slots)
        if (slots.held === 0 || !this.#mayBeLost(slots, nowMs)) continue
        subjects += 1
        held += slots.held
      }
      if (some.length > 0) declare(some, () => void setImmediate(goOn))
      else setImmediate(goOn)
    }
    goOn()
  }
}

/** Whether nothing is held, and the store has by now dropped any row by itself. */
function isGone({ isIdle, renewedAtMs, failedAtMs }: KeySlots, nowMs: number): boolean {
  return isIdle && nowMs - Math.max(renewedAtMs, failedAtMs) > SLOTS_KEPT_MS
}
