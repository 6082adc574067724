import { clearTimeout, setTimeout } from '../base/timers.js'
import { limitSetOf } from '../plans/limit-set-of.js'
import { refundOf } from '../stores/receipts.js'
import type { Answer, RefundRequest, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'

const MOST = 10_000
/** Who has not been heard of for so long is gone. */
const SET = limitSetOf({ quota: MOST, window: '30s', algorithm: 'sliding-log' })
/** No subject's key is like it. */
const KEY = '!instances'
const EVERY_MS = 10_000
/** Instances that get their requests at the same time are not to be counted at the same time again and again. */
const LATER_BY_MS = 1000

export interface InstanceCounterOptions {
  /** What all keys of its limiter begin with. */
  readonly begin: string
  /** Never rejects. */
  readonly consume: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  /** Never rejects. */
  readonly giveBack: (request: RefundRequest) => Promise<boolean>
  readonly onCount: (instances: number) => void
}

/**
 * Counts the limiters of one name that use a store, by a unit that each of them holds there: taken anew now and then while there
 * are requests, it comes back by itself when its limiter is gone.
 */
export class InstanceCounter {
  readonly #options: InstanceCounterOptions
  readonly #request: StoreRequest
  #held: RefundRequest | undefined
  #dueMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  #counting: Promise<void> | undefined

  constructor(options: InstanceCounterOptions) {
    this.#options = options
    const key = options.begin + KEY
    this.#request = { shard: 0, grant: 'all', parts: [{ key, set: SET, cost: 1 }] }
  }

  /** To be called at requests that the store decides. */
  tick(nowMs: number): void {
    if (nowMs < this.#dueMs) return
    this.#dueMs = nowMs + EVERY_MS
    // At once the first time, since until then it takes itself for the only one.
    if (!this.#held) this.#counting = this.#count()
    else this.#timer = setTimeout(() => (this.#counting = this.#count()), Math.random() * LATER_BY_MS).unref()
  }

  /** This limiter counts no more. */
  async leave(): Promise<void> {
    this.#dueMs = Infinity
    clearTimeout(this.#timer)
    await this.#counting
    if (this.#held) await this.#options.giveBack(this.#held)
    this.#held = undefined
  }

  /** Takes before it gives: one that is between the two is counted twice by others, where it could be missed. */
  async #count(): Promise<void> {
    const before = this.#held
    const [answer] = await this.#options.consume([this.#request])
    if (!isOutcome(answer, this.#request)) return
    this.#held = refundOf(this.#request, answer, 1)
    const isGiven = before && (await this.#options.giveBack(before))
    const held = MOST - (answer.limits[0]?.remaining ?? MOST)
    this.#options.onCount(Math.max(isGiven ? held - 1 : held, 1))
  }
}
