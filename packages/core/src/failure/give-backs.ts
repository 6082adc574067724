import type { RefundAnswer, RefundRequest } from '../stores/contract.js'
import { Batcher } from '../stores/batcher.js'
import { newId } from './ids.js'
import { Outbox } from './outbox.js'

/** What giving back needs of the store. */
export interface RefundingStore {
  readonly answersAtOnce: boolean
  /** Refunds of one shard, also while its breaker is open where forced. Never rejects. */
  refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]>
  /** Whether a shard is not asked. */
  isOpen(shard: number): boolean
}

/** What became of units that were to go back: `gone` had come back by themselves; of `unknown` nothing is known yet. */
export type GivenBack = 'given' | 'gone' | 'unknown'

/** Gives units back to the store: those of one tick in one call of each shard, each once, whatever replies are lost. */
export class GiveBacks {
  readonly #store: RefundingStore
  readonly #outbox: Outbox<RefundRequest, boolean>
  readonly #batcher: Batcher<RefundRequest>

  constructor(store: RefundingStore) {
    this.#store = store
    this.#outbox = new Outbox<RefundRequest, boolean>({
      send: (batch, isForced) => store.refund(batch, isForced),
      isOpen: (shard) => store.isOpen(shard),
      onDelivered: () => {},
      onDropped: () => {},
    })
    this.#batcher = new Batcher((batch) => this.#outbox.deliver(batch, false))
  }

  /**
   * Where the store does not say, units are given back later, if it answers within five minutes. Never rejects.
   */
  async give(request: RefundRequest): Promise<GivenBack> {
    if (!this.#store.answersAtOnce) {
      return this.#batcher.ask({ ...request, id: newId() }, (_, given) => meaningOf(given))
    }
    const [answer] = await this.#store.refund([request], false)
    return meaningOf(answer)
  }

  /** Sends again what has waited for a shard that answers now. */
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
