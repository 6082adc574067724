import { elapsedMs } from '../../base/timers.js'

const SECOND_MS = 1000
/** After so many requests were counted in a second, only half as many are counted. */
const MOST_A_SECOND = 250
const RAREST = 4096

/**
 * Chooses the requests that are counted: all of them, or under load one of several at random, which stands for the others. So counting
 * costs the same small time, whatever the load.
 */
export class Sampler {
  /** One of how many is counted. */
  #every = 1
  /** How many requests the next one that is counted stands for. */
  #weight = 1
  /** How many come before it. */
  #left = 0
  /** How many were counted since then. */
  #counted = 0
  #sinceMs: number
  readonly #nowMs: () => number

  /** @param nowMs the time, in ms; only tests pass it */
  constructor(nowMs: () => number = elapsedMs) {
    this.#nowMs = nowMs
    this.#sinceMs = nowMs()
  }

  /** For how many requests this one stands; 0: it is not counted. */
  weigh(): number {
    if (this.#left > 0) {
      this.#left -= 1
      return 0
    }
    const weight = this.#weight
    this.#counted += 1
    // The time is read only here, since to read it takes longer than all else.
    if (this.#counted >= MOST_A_SECOND) this.#slowDown()
    this.#draw()
    return weight
  }

  #slowDown(): void {
    const nowMs = this.#nowMs()
    if (nowMs < this.#sinceMs + SECOND_MS && this.#every < RAREST) this.#every *= 2
    this.#begin(nowMs)
  }

  #begin(nowMs: number): void {
    this.#counted = 0
    this.#sinceMs = nowMs
  }

  /** Called every second while not all are counted. */
  tick(): void {
    // Twice as many are not too many either.
    if (this.#every > 1 && this.#counted < MOST_A_SECOND / 2) {
      this.#every /= 2
      this.#draw()
    }
    this.#begin(this.#nowMs())
  }

  /** Whether all requests are counted. */
  get isExact(): boolean {
    return this.#every === 1
  }

  /** On average, every so many requests one is counted: always after the same number would hide what comes in turns. */
  #draw(): void {
    this.#weight = this.#every
    this.#left = Math.floor(Math.random() * (2 * this.#every - 1))
  }
}
