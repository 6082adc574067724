import { clearTimeout, setTimeout } from '../base/timers.js'
import { compileLimits } from '../plans/limit-set.js'
import { parseLimit } from '../plans/limit.js'
import { refundOf } from '../stores/receipts.js'
import type { Answer, RefundRequest, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'

const MOST = 10_000
/** Who has not been heard of for so long is gone. */
const SET = compileLimits([parseLimit({ quota: MOST, window: '30s', algorithm: 'sliding-log' }, 'instances')])
/** No subject's key is like it. */
const REQUEST: StoreRequest = { shard: 0, grant: 'all', parts: [{ key: '!instances', set: SET, cost: 1 }] }
const EVERY_MS = 10_000
/** Instances that get their requests at the same time are not to be counted at the same time again and again. */
const LATER_BY_MS = 1000

export interface InstanceCounterOptions {
  /** Never rejects. */
  readonly consume: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  /** Never rejects. */
  readonly giveBack: (request: RefundRequest) => Promise<boolean>
  readonly onCount: (instances: number) => void
}

/**
 * Counts the limiters that use a store, by a unit that each of them holds there: taken anew now and then while there
 * are requests, it comes back by itself when its limiter is gone.
 */
export class InstanceCounter {
  readonly #options: InstanceCounterOptions
  #held: RefundRequest | undefined
  #dueMs = -Infinity
  #timer: NodeJS.Timeout | undefined
  #counting: Promise<void> | undefined

  constructor(options: InstanceCounterOptions) {
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
    if (this.#held) await this.#options.giveBack(this.#held)
    this.#held = undefined
  }

  /** Takes before it gives: one that is between the two is counted twice by others, where it could be missed. */
  async #count(): Promise<void> {
    const before = this.#held
    const [answer] = await this.#options.consume([REQUEST])
    if (!isOutcome(answer, REQUEST)) return
    this.#held = refundOf(REQUEST, answer, 1)
    const isGiven = before && (await this.#options.giveBack(before))
    const held = MOST - (answer.limits[0]?.remaining ?? MOST)
    this.#options.onCount(Math.max(isGiven ? held - 1 : held, 1))
  }
}
