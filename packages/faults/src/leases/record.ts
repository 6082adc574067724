/** What a process saw of its requests, as numbers in a row: a kind, and from when to when its decision took, in µs. */
export const FIELDS = 3

/** Admitted by the store, from a lease or by something else; or denied, which is noted once until the next admission. */
export const KIND = { store: 0, lease: 1, other: 2, denied: 3 } as const

export interface Seen {
  readonly kind: number
  readonly from: number
  readonly to: number
  /** The number of the process. */
  readonly by: number
}

export class Recorder {
  #numbers = new Float64Array(FIELDS * 4096)
  #size = 0

  add(kind: number, from: number, to: number): void {
    if (this.#size === this.#numbers.length) {
      const larger = new Float64Array(2 * this.#size)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers.set([kind, from, to], this.#size)
    this.#size += FIELDS
  }

  get numbers(): Float64Array {
    return this.#numbers.slice(0, this.#size)
  }
}

export function readRecord(numbers: Float64Array, by: number): Seen[] {
  return Array.from({ length: numbers.length / FIELDS }, (_, i) => {
    const [kind = 0, from = 0, to = 0] = numbers.subarray(FIELDS * i, FIELDS * (i + 1))
    return { kind, from, to, by }
  })
}
