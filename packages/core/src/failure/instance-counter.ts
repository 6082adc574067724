import { compileLimits } from '../plans/limit-set.js'
import { parseLimit } from '../plans/limit.js'
import { refundsOf } from '../stores/sub-requests.js'
import { isOutcome } from '../stores/outcome-check.js'
import type { Answer, RefundRequest, StoreRequest } from '../stores/contract.js'

const MOST = 10_000
/** Who has not been heard of for so long is gone. */
const SET = compileLimits([parseLimit({ quota: MOST, window: '30s', algorithm: 'sliding-log' }, 'headcount')])
/** No subject's key is like it. */
const KEY = '{0}:!instances'
const EVERY_MS = 10_000
/** Instances that get their requests at the same time are not to be counted at the same time again and again. */
const LATER_BY_MS = 1000

export interface HeadcountOptions {
  /** Never rejects. */
  readonly consume: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  /** Never rejects. */
  readonly refund: (request: RefundRequest) => Promise<boolean>
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
  #timer: NodeJS.Timeout | undefined
  #counting: Promise<void> | undefined

  constructor(options: HeadcountOptions) {
    this.#options = options
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
    if (this.#held) await this.#options.refund(this.#held)
    this.#held = undefined
  }

  /** Takes before it gives: one that is between the two is counted twice by others, where it could be missed. */
  async #count(): Promise<void> {
    const before = this.#held
    const ask = { key: KEY, set: SET, cost: 1 }
    const [answer] = await this.#options.consume([ask])
    if (!isOutcome(answer, 1)) return
    this.#held = refundsOf([ask], answer, 1)[0]
    const isGiven = before && (await this.#options.refund(before))
    const held = MOST - (answer.limits[0]?.remaining ?? MOST)
    this.#options.onCount(Math.max(isGiven ? held - 1 : held, 1))
  }
}
