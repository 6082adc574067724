import type { StoreError } from '../../base/errors.js'
import { clearTimeout, setTimeout } from '../../base/timers.js'

/** `half-open`: the store answers again. Before it decides requests, it is told what was admitted in the meantime. */
export type BreakerState = 'closed' | 'open' | 'half-open'

export interface BreakerOptions {
  /** Asks the store something that no request waits for. Resolves to the error, if it does not answer. Never rejects. */
  readonly probe: () => Promise<StoreError | undefined>
  /** Called before the store decides requests again; the breaker closes when it resolves. Never rejects. */
  readonly recover: () => Promise<void>
  /** How many probes are past their deadline without a reply. The more, the longer the pause between probes. */
  readonly overdue: () => number
  readonly onChange: (state: BreakerState, error: StoreError | undefined) => void
  /** A probe failed, perhaps for another reason than the one that opened the breaker. */
  readonly onFailedProbe: (error: StoreError) => void
}

/** After this many failed calls in a row the breaker opens. */
const FAILURES = 3
/** In ms; doubled for each overdue probe, at most 32 times this. */
const PROBE_EVERY_MS = 250
const LONGEST_PAUSE = 2 ** 5

/**
 * A circuit breaker: knows whether a store is worth asking. Failures open it. While it is open, no request is sent but
 * only probes, until one of them is answered.
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

  /** A late reply came from the store, so probe now instead of later. */
  wake(): void {
    if (this.#state === 'open' && !this.#isProbing) this.#probeIn(0)
  }

  /** Stops probing for good. */
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
    // unref: probes do not keep the process alive.
    this.#timer = setTimeout(() => void this.#probe(), ms).unref()
  }

  async #probe(): Promise<void> {
    this.#isProbing = true
    const error = await this.#options.probe()
    this.#isProbing = false
    if (error) {
      if (!this.#isEnded) this.#options.onFailedProbe(error)
      return this.#probeIn(PROBE_EVERY_MS * Math.min(2 ** this.#options.overdue(), LONGEST_PAUSE))
    }
    this.#enter('half-open')
    this.#failures = 0
    await this.#options.recover()
    // A call may have failed during `recover`.
    if (this.#failures === 0) return this.#enter('closed')
    this.#enter('open')
    this.#probeIn(PROBE_EVERY_MS)
  }
}
