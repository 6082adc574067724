import type { StoreError } from '../base/errors.js'
import { clearTimeout, setTimeout } from '../base/timers.js'

/** `half-open`: the store answers again, and is told what was admitted meanwhile before it decides again. */
export type BreakerState = 'closed' | 'open' | 'half-open'

export interface BreakerOptions {
  /** Whether the store answers, by asking it something that no request waits for. Never rejects. */
  readonly probe: () => Promise<boolean>
  /** What is to be done before it decides again. Never rejects. */
  readonly recover: () => Promise<void>
  /** Probes that are past their deadline and have no reply: with each, they are rarer. */
  readonly overdue: () => number
  readonly onChange: (state: BreakerState, error: StoreError | undefined) => void
}

/** Failed calls one after another until the store is given up. */
const FAILURES = 3
const PROBE_EVERY_MS = 250
const LONGEST_PAUSE = 2 ** 5

/**
 * Knows whether a store is worth asking. Failures open it; then nothing is asked but probes, which no request waits
 * for, until one is answered.
 *
 * @see https://martinfowler.com/bliki/CircuitBreaker.html
 */
export class Breaker {
  readonly #options: BreakerOptions
  #state: BreakerState = 'closed'
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  #isEnded = false

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get state(): BreakerState {
    return this.#state
  }

  succeed(): void {
    this.#failures = 0
  }

  fail(error: StoreError): void {
    this.#failures += 1
    if (this.#state !== 'closed' || this.#failures < FAILURES || this.#isEnded) return
    this.#enter('open', error)
    this.#probeIn(PROBE_EVERY_MS)
  }

  /** Something of the store has come: worth a probe now. */
  wake(): void {
    if (this.#state === 'open' && !this.#isProbing) this.#probeIn(0)
  }

  /** Probes no more. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }

  #enter(state: BreakerState, error?: StoreError): void {
    this.#state = state
    this.#options.onChange(state, error)
  }

  #probeIn(ms: number): void {
    if (this.#isEnded) return
    clearTimeout(this.#timer)
    // A process that has nothing else to do may end.
    this.#timer = setTimeout(() => void this.#probe(), ms).unref()
  }

  async #probe(): Promise<void> {
    this.#isProbing = true
    const isBack = await this.#options.probe()
    this.#isProbing = false
    if (!isBack) return this.#probeIn(PROBE_EVERY_MS * Math.min(2 ** this.#options.overdue(), LONGEST_PAUSE))
    this.#enter('half-open')
    this.#failures = 0
    await this.#options.recover()
    // It may have failed again in the meantime.
    if (this.#failures === 0) return this.#enter('closed')
    this.#enter('open')
    this.#probeIn(PROBE_EVERY_MS)
  }
}
