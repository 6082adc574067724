import { ID_KEPT_MS } from '../contract.js'

/** So many ids are remembered for certain; twice as many are held at most. */
const MOST_IDS = 100_000

/**
 * What was answered to requests with an id, for ID_KEPT_MS. In two generations, of which the older leaves as a whole:
 * so nothing has to be looked through.
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
    // What came before is older than that by now, and when nothing came for as long again, all is.
    if (now - this.#recentSince >= 2 * ID_KEPT_MS * 1000) this.#recent = new Map()
    this.#turn(now)
  }

  #turn(now: number): void {
    this.#before = this.#recent
    this.#recent = new Map()
    this.#recentSince = now
  }
}
