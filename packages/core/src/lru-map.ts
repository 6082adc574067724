/** A map that holds so many entries at most, and forgets the one unused longest. */
export class LruMap<T> {
  readonly #most: number
  /** In the order of last use. */
  readonly #entries = new Map<string, T>()
  /** Goes on where it stopped: from the beginning it would step over all that has left since the map was packed. */
  #oldest = this.#entries.keys()

  constructor(most: number) {
    this.#most = most
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)
  }

  /** Makes it the one used last. */
  use(key: string, value: T): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    while (this.#entries.size > this.#most) {
      const { done, value: oldest } = this.#oldest.next()
      if (done) this.#oldest = this.#entries.keys()
      else this.#entries.delete(oldest)
    }
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
}
