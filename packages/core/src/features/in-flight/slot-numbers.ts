/**
 * Keeps which slot numbers are accounted for. The store numbers the slots that it gives, and answers may come in any order. So
 * this counts the numbers and does not rely on the highest: otherwise a number whose answer is still to come would count as known.
 *
 * A lost answer leaves a gap, and its slot still counts in the store. The gap is given up when all requests that were under way
 * when it was noticed have ended: no other answer can fill it.
 */
export class SlotNumbers {
  /** Numbers up to this one are accounted for: heard of, or given up. */
  #floor: number
  /** Numbers above it that were heard of. */
  #above: Set<number> | undefined
  #highest: number
  #requests = 0
  /** The number up to which a gap reaches (0: there is no gap), and how many requests must end before it is given up. */
  #gapTo = 0
  #gapRequests = 0
  #gapSince = 0

  /** @param from as high as any number that the store gave before */
  constructor(from: number) {
    this.#floor = from
    this.#highest = from
  }

  /** How many numbers are accounted for, counted from 1. */
  get known(): number {
    return this.#floor + (this.#above?.size ?? 0)
  }

  /** How many requests are under way. */
  get requests(): number {
    return this.#requests
  }

  begin(): void {
    this.#requests += 1
  }

  /** The highest number in an answer. */
  get highest(): number {
    return this.#highest
  }

  /** Hears of a slot that was given. A number that is accounted for has been given twice: the store has lost data. */
  hear(number: number, now: number): void {
    if (number <= this.#floor) return
    if (number === this.#floor + 1) {
      this.#floor = number
      this.#closeUp()
    } else {
      this.#above ??= new Set()
      this.#above.add(number)
    }
    this.notice(number, now)
  }

  /**
   * Learns that the store has given all numbers up to this one.
   *
   * @param now the time, in the unit of `end`
   */
  notice(number: number, now: number): void {
    if (number > this.#highest) this.#highest = number
    if (this.#gapRequests > 0 || this.#highest <= this.known) return
    this.#gapTo = this.#highest
    this.#gapRequests = this.#requests
    this.#gapSince = now
  }

  /**
   * A request is over. Its answer, if there is one, was heard before. Returns whether numbers were given up.
   *
   * @param began when it began: higher for requests that began after a gap was noticed
   */
  end(began: number, now: number): boolean {
    this.#requests -= 1
    if (this.#gapRequests > 0 && began <= this.#gapSince) this.#gapRequests -= 1
    return this.giveUp(now)
  }

  /** Gives up a gap that no answer can fill any more. Returns whether there was one. */
  giveUp(now: number): boolean {
    if (this.#gapTo === 0 || this.#gapRequests > 0) return false
    const before = this.known
    this.#floor = Math.max(this.#floor, this.#gapTo)
    this.#gapTo = 0
    for (const number of this.#above ?? []) if (number <= this.#floor) this.#above?.delete(number)
    this.#closeUp()
    const isLess = this.known > before
    // Numbers above may have been noticed meanwhile.
    this.notice(this.#highest, now)
    return this.giveUp(now) || isLess
  }

  /** All that it knows, for tests. */
  state(): readonly unknown[] {
    const { known } = this
    const above = [...(this.#above ?? [])].map((number) => number - known)
    const gap = this.#gapTo > 0 && [this.#gapTo - known, this.#gapRequests]
    return [this.#floor - known, above, this.#highest - known, this.#requests, gap]
  }

  #closeUp(): void {
    while (this.#above?.delete(this.#floor + 1)) this.#floor += 1
  }
}
