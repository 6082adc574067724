/** The most requests of a limiter that wait at a time, or are asking for a place. */
const MOST = 1000
/** The most of one subject. */
const MOST_OF_ONE = MOST / 4

/** Bounds how many requests wait in this process, and how many of them one subject can have. */
export class Seats {
  readonly #taken = new Map<string, number>()
  #total = 0

  get taken(): number {
    return this.#total
  }

  /** @returns false if there is none left */
  take(key: string): boolean {
    const own = this.#taken.get(key) ?? 0
    if (this.#total >= MOST || own >= MOST_OF_ONE) return false
    this.#total += 1
    this.#taken.set(key, own + 1)
    return true
  }

  free(key: string): void {
    const own = this.#taken.get(key) ?? 0
    if (own === 0) return
    this.#total -= 1
    if (own === 1) this.#taken.delete(key)
    else this.#taken.set(key, own - 1)
  }
}
