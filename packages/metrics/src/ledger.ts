import { ROOT_CONTEXT, type Attributes, type Counter } from '@opentelemetry/api'

/** An amount to add to a counter under one set of attributes. */
export interface Sum {
  readonly counter: Counter
  readonly attributes: Attributes
  /** The amount in this turn of the event loop so far. */
  value: number
}

export function sumOf(counter: Counter, attributes: Attributes): Sum {
  return { counter, attributes, value: 0 }
}

/**
 * Adds to counters once per turn of the event loop: an addition in the OpenTelemetry SDK takes about as long as a whole
 * decision, and most decisions of a turn have the same attributes.
 */
export class Ledger {
  readonly #onError: (error: unknown) => void
  readonly #flush = (): void => this.flush()
  #due: Sum[] = []
  #turn = 0

  /** @param onError called with errors that counters throw */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Number of flushes so far. Sums start again at zero with each one. */
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
        // In no request's context, because the sum is of many requests.
        counter.add(value, attributes, ROOT_CONTEXT)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
