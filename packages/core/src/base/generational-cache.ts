/**
 * A cache for values that are set far more often than read. Setting costs less than in an LruMap. Once full it holds
 * between `most` and 2 x `most` entries: when the recent half is full, the older half is dropped.
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

  /** Reads a value and makes it recent, as if it had been set now. */
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
