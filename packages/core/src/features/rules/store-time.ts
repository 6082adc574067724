import { elapsedMs, startedAtMs } from '../../base/timers.js'
import type { Store } from '../../stores/contract.js'
import type { RuleList } from '../../stores/rule-list.js'

/** The store's time between its answers. */
export class StoreTime {
  readonly #list: RuleList
  readonly #testClock: (() => number) | undefined
  /** The store's time less that since the process started, in µs; undefined until it answered. */
  #offsetUs: number | undefined

  constructor(list: RuleList, { testClock }: Store) {
    this.#list = list
    this.#testClock = testClock
  }

  /** Whether it is the store's time. If not, it is this process's own. */
  get isKnown(): boolean {
    return this.#offsetUs !== undefined || this.#testClock !== undefined || this.#list.now !== undefined
  }

  /** In µs. */
  now(): number {
    const known = this.#list.now?.()
    if (known !== undefined) return known
    if (this.#testClock) return Math.round(this.#testClock() * 1000)
    return Math.round((this.#offsetUs ?? startedAtMs * 1000) + elapsedMs() * 1000)
  }

  /**
   * Learns from an answer. The store gave its time between the question and the answer, so a slow answer moves the clock only if it
   * must be wrong.
   *
   * @returns how far the clock moved, in µs
   */
  learn(atUs: number, sentMs: number, arrivedMs: number): number {
    const before = this.now()
    const [least, most] = [atUs - arrivedMs * 1000, atUs - sentMs * 1000]
    this.#offsetUs = Math.min(Math.max(this.#offsetUs ?? least, least), most)
    return this.now() - before
  }
}
