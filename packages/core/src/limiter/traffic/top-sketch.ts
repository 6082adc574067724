import type { Target } from '../../features/rules/rule-options.js'

/** What is counted of a subject: its requests, or its denials. */
export interface Seen {
  key: string
  /** As people are shown it. */
  subject: string
  plan: string
  /** At least the true number, by at most `error`. */
  count: number
  error: number
  units: number
  denied: number
}

interface Held {
  entry: Seen
  /** Where it is in the heap. */
  at: number
}

/**
 * The subjects with the largest counts of a stream, in a fixed number of entries: the sketch Space-Saving of Metwally, Agrawal and El Abbadi,
 * "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005. A subject without an entry takes that of the smallest count, and
 * inherits this count as its error. Of a stream of N, no error is larger than N divided by the number of entries.
 */
export class TopSketch {
  readonly #most: number
  readonly #byKey = new Map<string, Held>()
  /** The smallest count first: no count is larger than the two at twice its position. */
  readonly #heap: Held[] = []

  constructor(most: number) {
    this.#most = most
  }

  /** @param plan empty if it is not known: a rule that blocks a subject answers before that */
  add(target: Target, weight: number, plan: string): Seen {
    const held = this.#byKey.get(target.what) ?? this.#heldFor(target)
    const { entry } = held
    entry.count += weight
    if (plan) entry.plan = plan
    this.#sink(held)
    return entry
  }

  #heldFor({ what: key, of: subject }: Target): Held {
    const smallest = this.#heap[0]
    if (smallest && this.#heap.length === this.#most) {
      const { entry } = smallest
      this.#byKey.delete(entry.key)
      this.#byKey.set(key, smallest)
      entry.key = key
      entry.subject = subject
      entry.plan = ''
      entry.error = entry.count
      entry.units = 0
      entry.denied = 0
      return smallest
    }
    const entry = { key, subject, plan: '', count: 0, error: 0, units: 0, denied: 0 }
    const held = { entry, at: this.#heap.length }
    this.#byKey.set(key, held)
    this.#heap.push(held)
    // Nothing counts less than 0.
    while (held.at > 0) this.#swap(held, this.#heap[(held.at - 1) >> 1] as Held)
    return held
  }

  /** Moves an entry down whose count has grown. */
  #sink(held: Held): void {
    for (;;) {
      const [left, right] = [this.#heap[2 * held.at + 1], this.#heap[2 * held.at + 2]]
      const least = left && right && right.entry.count < left.entry.count ? right : left
      if (!least || least.entry.count >= held.entry.count) return
      this.#swap(held, least)
    }
  }

  #swap(a: Held, b: Held): void {
    const { at } = a
    a.at = b.at
    b.at = at
    this.#heap[a.at] = a
    this.#heap[b.at] = b
  }

  /** No key without an entry has a larger count. */
  get floor(): number {
    return this.#heap.length < this.#most ? 0 : (this.#heap[0]?.entry.count ?? 0)
  }

  /** The largest counts first. */
  entries(): Seen[] {
    return this.#heap.map(({ entry }) => ({ ...entry })).toSorted(byCount)
  }
}

export function byCount(a: Seen, b: Seen): number {
  return b.count - a.count
}
