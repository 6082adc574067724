import type { StoreError } from '../../base/errors.js'

export interface OutboxOptions<Item, Answer> {
  /** Sends items of one shard; if forced, also while its breaker is open. Never rejects. */
  readonly send: (items: readonly Item[], isForced: boolean) => Promise<readonly (Answer | StoreError)[]>
  /** How many limits the store counts an item in, by which calls are bounded. */
  readonly limitsOf: (item: Item) => number
  readonly isOpen: (shard: number) => boolean
  /** Called once per item, with the store's final answer. */
  readonly onDelivered: (item: Item, answer: Answer | StoreError) => void
  /** Called for each item that will not be sent any more. */
  readonly onDropped: (item: Item) => void
}
