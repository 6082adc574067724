import { ID_KEPT_MS } from '../contract.js'

/** This many ids are remembered for certain, and at most twice as many are held. */
const MOST_IDS = 100_000

/**
 * The answers to requests with an id, for ID_KEPT_MS. Held in two generations. The older one is dropped as a whole, so
 * that no search for expired ids is needed.
 */
export class RememberedIds<Answered> {
  #recent = new Map<string, Answered>()
  #before = new Map<string, Answered>()
  #recentSince = 0

  get size(): number {
    return this.#recent.size + this.#before.size
  }

  /** @param now in µs */
  get(id: string, now: number): Answered | undefined {
    this.#age(now)
    return this.#recent.get(id) ?? this.#before.get(id)
  }

  set(id: string, answered: Answered, now: number): void {
    this.#age(now)
    if (this.#recent.size >= MOST_IDS) this.#turn(now)
    this.#recent.set(id, answered)
  }

  #age(now: number): void {
    if (now - this.#recentSince < ID_KEPT_MS * 1000) return
    // The older generation has expired. After twice the time, the recent one has, too.
    if (now - this.#recentSince >= 2 * ID_KEPT_MS * 1000) this.#recent = new Map()
    this.#turn(now)
  }

  #turn(now: number): void {
    this.#before = this.#recent
    this.#recent = new Map()
    this.#recentSince = now
  }
}
