import { clearTimeout, setTimeout } from '../../base/timers.js'
import { createLimitSet } from '../../plans/limit/limit.js'
import { refundOf } from '../../stores/receipts.js'
import type { Answer, RefundRequest, StoreRequest } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'

const MOST_INSTANCES = 10_000
/** An instance that took no unit within this window counts as gone. */
const SET = createLimitSet({ quota: MOST_INSTANCES, window: '30s', algorithm: 'sliding-log' })
/** No subject can have this key. */
const KEY = '!instances'
const COUNT_EVERY_MS = 10_000
/** A random delay up to this, in ms, so that instances do not all count at the same moment. */
const JITTER_MS = 1000

export interface InstanceCounterOptions {
  /** What all keys of its limiter begin with. */
  readonly begin: string
  /** Never rejects. */
  readonly charge: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  /** Never rejects. */
  readonly giveBack: (request: RefundRequest) => Promise<boolean>
  readonly onCount: (instances: number) => void
}

/**
 * Counts the limiters of one name that share a store. Each holds one unit of a common limit, renewed every 10 s while
 * there are requests. The unit of a limiter that is gone comes back by itself.
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

  /**
   * Called for every request that the store decides.
   *
   * @param nowMs by a clock that is never set, in ms
   */
  tick(nowMs: number): void {
    if (nowMs < this.#dueMs) return
    this.#dueMs = nowMs + COUNT_EVERY_MS
    // The first count starts at once: until it is done, this limiter assumes that it is the only one.
    if (!this.#held) this.#counting = this.#count()
    else this.#timer = setTimeout(() => (this.#counting = this.#count()), Math.random() * JITTER_MS).unref()
  }

  /** Stops counting and gives this limiter's unit back. */
  async leave(): Promise<void> {
    this.#dueMs = Infinity
    clearTimeout(this.#timer)
    await this.#counting
    if (this.#held) await this.#options.giveBack(this.#held)
    this.#held = undefined
  }

  /** Takes the new unit before it gives the old one back: for a moment it counts twice, but it is never missed. */
  async #count(): Promise<void> {
    const before = this.#held
    const [answer] = await this.#options.charge([this.#request])
    if (!isOutcome(answer, this.#request)) return
    this.#held = refundOf(this.#request, answer, 1)
    const isGiven = before && (await this.#options.giveBack(before))
    const held = MOST_INSTANCES - (answer.limits[0]?.remaining ?? MOST_INSTANCES)
    this.#options.onCount(Math.max(isGiven ? held - 1 : held, 1))
  }
}
