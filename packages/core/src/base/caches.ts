/** The eviction iterator is dropped after this many uses without an eviction. */
const LONGEST_IDLE = 1024

/** A map of at most `most` entries. When it is full, it evicts the least recently used one. */
export class LruMap<T> {
  readonly #most: number
  readonly #longestIdle: number
  readonly #onForgotten: ((key: string, value: T) => void) | undefined
  /** In the order of last use, the oldest first. */
  readonly #entries = new Map<string, T>()
  /**
   * Stands at the next key to evict. Kept, since a new iterator would step over every deleted entry at the front of the
   * map. Dropped when nothing is evicted for long, since it keeps the map's outgrown tables in memory.
   */
  #oldest: Iterator<string> | undefined
  #idle = 0

  /** @param onForgotten is called for each evicted entry */
  constructor(most: number, onForgotten?: (key: string, value: T) => void) {
    this.#most = most
    this.#onForgotten = onForgotten
    this.#longestIdle = Math.max(LONGEST_IDLE, most >> 2)
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  /** Adds the entry, or makes it the most recently used. */
  use(key: string, value: T): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > this.#most) this.#forget()
    else if (this.#oldest && (this.#idle += 1) > this.#longestIdle) this.#oldest = undefined
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
  }

  /** All entries, the least recently used first. */
  entries(): IterableIterator<[string, T]> {
    return this.#entries.entries()
  }

  #forget(): void {
    this.#idle = 0
    while (this.#entries.size > this.#most) {
      this.#oldest ??= this.#entries.keys()
      const { done, value: oldest } = this.#oldest.next()
      if (done) {
        this.#oldest = undefined
        continue
      }
      const value = this.#entries.get(oldest)
      if (this.#entries.delete(oldest)) this.#onForgotten?.(oldest, value as T)
    }
  }
}

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
