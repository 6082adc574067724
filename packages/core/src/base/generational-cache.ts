/**
 * A map of what was set last, for values that are set far more often than they are read: it costs less than an
 * LruMap, and holds between `most` and twice as many entries once it is full.
 */
export class GenerationalCache<T> {
  readonly #most: number
  #recent = new Map<string, T>()
  #before = new Map<string, T>()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): T | undefined {
    return this.#recent.get(key) ?? this.#before.get(key)
  }

  /** The value of a key, which counts as set now. */
  refresh(key: string): T | undefined {
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const before = this.#before.get(key)
    if (before !== undefined) this.set(key, before)
    return before
  }

  set(key: string, value: T): void {
    if (this.#recent.size >= this.#most && !this.#recent.has(key)) {
      this.#before = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(key, value)
  }

  delete(key: string): void {
    this.#recent.delete(key)
    this.#before.delete(key)
  }
}
