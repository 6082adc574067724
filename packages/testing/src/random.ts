/** Pseudo-random numbers, the same for the same seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** @returns a number from 0 to just below 1 (mulberry32) */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** @returns a whole number from `min` to `max`, both included */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** @returns a number from `least` to just below `most` */
  between(least: number, most: number): number {
    return least + this.next() * (most - least)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(0, from.length - 1)] as T
  }

  /** @returns up to `count` different elements in random order */
  some<T>(from: readonly T[], count: number): T[] {
    const left = [...from]
    return Array.from({ length: Math.min(count, left.length) }, () => {
      return left.splice(this.int(0, left.length - 1), 1)[0] as T
    })
  }
}
