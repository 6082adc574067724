import type { RefundAnswer, RefundRequest } from '../../stores/contract.js'
import { Batcher } from '../../stores/batch/batcher.js'
import { limitsIn } from '../../stores/batch/lane.js'
import { newId } from './ids.js'
import { Outbox } from './outbox.js'

/** The part of the store that refunds need. */
export interface RefundingStore {
  readonly answersAtOnce: boolean
  /** Sends refunds of one shard; if forced, also while its breaker is open. Never rejects. */
  refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]>
  /** Whether the shard's breaker is not closed, so that requests are not sent to it. */
  isOpen(shard: number): boolean
}

/** The result of a refund. `gone`: the units had come back by themselves. `unknown`: the store has not answered yet. */
export type GivenBack = 'given' | 'gone' | 'unknown'

/** Gives units back to the store: one call per shard and tick, each refund counted once, even if replies are lost. */
export class GiveBacks {
  readonly #store: RefundingStore
  readonly #outbox: Outbox<RefundRequest, boolean>
  readonly #batcher: Batcher<RefundRequest>

  constructor(store: RefundingStore) {
    this.#store = store
    this.#outbox = new Outbox<RefundRequest, boolean>({
      send: (batch, isForced) => store.refund(batch, isForced),
      limitsOf: limitsIn,
      isOpen: (shard) => store.isOpen(shard),
      onDelivered: () => {},
      onDropped: () => {},
    })
    this.#batcher = new Batcher((batch, onAnswers) => void this.#outbox.deliver(batch, false).then(onAnswers))
  }

  /**
   * Gives units back. Without an answer of the store it resolves to `unknown`, and is repeated for five minutes: so it has an id,
   * which the store keeps. A request without units is not sent. Never rejects.
   */
  async give(request: RefundRequest): Promise<GivenBack> {
    if (!request.parts.some(({ receipts }) => receipts.some(({ units }) => units > 0))) return 'gone'
    if (!this.#store.answersAtOnce) {
      return this.#batcher.ask({ ...request, id: newId() }, (_, given) => meaningOf(given))
    }
    const [answer] = await this.#store.refund([request], false)
    return meaningOf(answer)
  }

  /** Repeats the waiting refunds of a shard that answers again. */
  recover(shard: number): Promise<void> {
    return this.#outbox.recover(shard)
  }

  async end(): Promise<void> {
    this.#batcher.flush()
    await this.#outbox.end()
  }
}

function meaningOf(answer: unknown): GivenBack {
  if (typeof answer !== 'boolean') return 'unknown'
  return answer ? 'given' : 'gone'
}
