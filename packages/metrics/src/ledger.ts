import type { Attributes, CounterKey, Sink } from './instruments.js'

/** A pending addition to a counter with one set of attributes. */
export interface Sum {
  readonly counter: CounterKey
  readonly attributes: Attributes
  /** The sum of the additions in this turn of the event loop. */
  value: number
}

export function createSum(counter: CounterKey, attributes: Attributes): Sum {
  return { counter, attributes, value: 0 }
}

/**
 * Adds to counters once per turn of the event loop. An addition costs the OpenTelemetry SDK about as much as a decision costs a
 * limiter, and most decisions of a turn have the same attributes.
 */
export class Ledger {
  readonly #sink: Sink
  readonly #onError: (error: unknown) => void
  readonly #flush = (): void => this.flush()
  #due: Sum[] = []
  #turn = 0

  /** @param onError called with errors of counters */
  constructor(sink: Sink, onError: (error: unknown) => void) {
    this.#sink = sink
    this.#onError = onError
  }

  /** Changes whenever all sums are reset to zero. */
  get turn(): number {
    return this.#turn
  }

  add(sum: Sum, value: number): void {
    if (sum.value === 0 && value > 0 && this.#due.push(sum) === 1) setImmediate(this.#flush)
    sum.value += value
  }

  flush(): void {
    const due = this.#due
    this.#due = []
    this.#turn += 1
    for (const sum of due) {
      const { counter, attributes, value } = sum
      sum.value = 0
      try {
        this.#sink.add(counter, value, attributes)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
