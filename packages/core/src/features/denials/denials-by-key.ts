import { LruMap } from '../../base/caches.js'
import type { SubRequest } from '../../stores/contract.js'
import type { RememberedDenial } from './remembered-denial.js'

/** A key is remembered with at most this many pairs of cost and limits. */
const MOST_OF_A_KEY = 4

/** The remembered denials of each key, newest first. Of more keys than fit, those that learnt longest ago are dropped. */
export class DenialsByKey {
  readonly #first: LruMap<RememberedDenial>

  /** @param size the most keys */
  constructor(size: number) {
    this.#first = new LruMap(size)
  }

  get isEmpty(): boolean {
    return this.#first.size === 0
  }

  /** The denial of this very cost by these very limits: another cost has another wait. */
  find({ key, set, cost }: SubRequest): RememberedDenial | undefined {
    let denial = this.#first.get(key)
    while (denial && (denial.set !== set || denial.cost !== cost)) denial = denial.next
    return denial
  }

  /**
   * Replaces the denial of this cost by these limits. Drops those of the key that are over.
   *
   * @param made undefined: it is only taken away
   */
  replace(part: SubRequest, made: RememberedDenial | undefined, now: number): void {
    const { key } = part
    const others = this.#others(part, now)
    if (made) made.next = others
    const first = made ?? others
    if (first) this.#first.use(key, first)
    else this.#first.delete(key)
  }

  delete(key: string): void {
    this.#first.delete(key)
  }

  #others({ key, set, cost }: SubRequest, now: number): RememberedDenial | undefined {
    const kept: RememberedDenial[] = []
    for (let denial = this.#first.get(key); denial; denial = denial.next) {
      if ((denial.set !== set || denial.cost !== cost) && now < denial.until) kept.push(denial)
    }
    return kept
      .slice(0, MOST_OF_A_KEY - 1)
      .reduceRight<RememberedDenial | undefined>((next, denial) => Object.assign(denial, { next }), undefined)
  }
}
