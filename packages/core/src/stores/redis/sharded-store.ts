import { toStoreError } from '../../base/errors.js'
import type { Answer, Call, RefundRequest, Store, StoreRequest } from '../contract.js'

/** A store whose keys are in shards, and which can be asked for one shard at a time. */
export interface Shards extends Pick<Store, 'ready' | 'refund' | 'reset'> {
  readonly shards: number
  shardOf(key: string): number
  consume(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]>
  peek(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]>
}

/**
 * A store on a cluster: a batch goes out as one call for each shard that it touches, side by side, and what one
 * server cannot answer leaves the requests of the others alone.
 */
export class ShardedStore implements Store {
  readonly immediate = false
  readonly joins = false
  readonly partitions: number
  readonly #inner: Shards

  constructor(inner: Shards) {
    this.#inner = inner
    this.partitions = inner.shards
  }

  partitionOf(key: string): number {
    return this.#inner.shardOf(key)
  }

  ready(): Promise<void> | undefined {
    return this.#inner.ready?.()
  }

  consume(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]> {
    return this.#split(batch, (part) => this.#inner.consume(part, call))
  }

  peek(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]> {
    return this.#split(batch, (part) => this.#inner.peek(part, call))
  }

  refund(request: RefundRequest): ReturnType<Store['refund']> {
    return this.#inner.refund(request)
  }

  reset(key: string): ReturnType<Store['reset']> {
    return this.#inner.reset(key)
  }

  #split(
    batch: readonly StoreRequest[],
    ask: (part: readonly StoreRequest[]) => Promise<Answer[]>,
  ): Promise<Answer[]> {
    const parts = this.#partsOf(batch)
    if (parts.length === 1) return ask(batch)
    const answers: Answer[] = new Array(batch.length)
    const asked = parts.map(async (places) => {
      const requests = places.map((place) => batch[place] as StoreRequest)
      const given: Answer[] = await ask(requests).catch((error: unknown) => {
        const fault = toStoreError(error)
        return requests.map(() => fault)
      })
      places.forEach((place, i) => (answers[place] = given[i] as Answer))
    })
    return Promise.all(asked).then(() => answers)
  }

  /** The places in the batch of each shard's requests. */
  #partsOf(batch: readonly StoreRequest[]): number[][] {
    const parts = new Map<number, number[]>()
    batch.forEach(({ key }, place) => {
      const shard = this.partitionOf(key)
      const part = parts.get(shard)
      if (part) part.push(place)
      else parts.set(shard, [place])
    })
    return [...parts.values()]
  }
}
