import { compileLimits } from '../limit-set.js'
import { parseLimit } from '../limit.js'
import { refundsOf } from '../stores/asks.js'
import { isOutcome } from '../stores/outcome.js'
import type { Answer, RefundRequest, StoreRequest } from '../stores/store.js'

const MOST = 10_000
/** Who has not been heard of for so long is gone. */
const SET = compileLimits([parseLimit({ quota: MOST, window: '30s', algorithm: 'sliding-log' }, 'headcount')])
/** No subject's key is like it. */
const KEY = '{0}:!instances'
const EVERY_MS = 10_000

export interface HeadcountOptions {
  /** Never rejects. */
  readonly consume: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  /** Never rejects. */
  readonly refund: (request: RefundRequest) => Promise<unknown>
  readonly onCount: (instances: number) => void
}

/**
 * Counts the limiters that use a store, by a unit that each of them holds there: taken anew now and then while there
 * are requests, it comes back by itself when its limiter is gone.
 */
export class Headcount {
  readonly #options: HeadcountOptions
  #held: RefundRequest | undefined
  #dueMs = -Infinity

  constructor(options: HeadcountOptions) {
    this.#options = options
  }

  /** To be called at requests that the store decides. */
  tick(nowMs: number): void {
    if (nowMs < this.#dueMs) return
    this.#dueMs = nowMs + EVERY_MS
    void this.#count()
  }

  /** This limiter counts no more. */
  async leave(): Promise<void> {
    this.#dueMs = Infinity
    const held = this.#held
    this.#held = undefined
    if (held) await this.#options.refund(held)
  }

  async #count(): Promise<void> {
    if (this.#held) await this.#options.refund(this.#held)
    const ask = { key: KEY, set: SET, cost: 1 }
    const [answer] = await this.#options.consume([ask])
    if (!isOutcome(answer, 1)) return
    this.#held = refundsOf([ask], answer, 1)[0]
    this.#options.onCount(Math.max(MOST - (answer.limits[0]?.remaining ?? MOST), 1))
  }
}
