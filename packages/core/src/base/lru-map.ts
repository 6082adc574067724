/** After so many uses that had nothing forgotten, the place where forgetting goes on is given up. */
const LONGEST_IDLE = 1024

/** A map that holds so many entries at most, and forgets the one unused longest. */
export class LruMap<T> {
  readonly #most: number
  readonly #longestIdle: number
  readonly #onForgotten: ((key: string, value: T) => void) | undefined
  /** In the order of last use. */
  readonly #entries = new Map<string, T>()
  /**
   * Goes on where it stopped: from the beginning it would step over all that has left since the map was packed. Not
   * kept while nothing is forgotten, since an iterator that rests keeps every table that the map has outgrown.
   */
  #oldest: Iterator<string> | undefined
  #idle = 0

  /** @param onForgotten told of what had to go for want of room */
  constructor(most: number, onForgotten?: (key: string, value: T) => void) {
    this.#most = most
    this.#onForgotten = onForgotten
    this.#longestIdle = Math.max(LONGEST_IDLE, most >> 2)
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  /** Makes it the one used last. */
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

  /** All of them, the one unused longest first. */
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
