// Asynchronous stores, as over a network, with faults.
import { memoryStore, type Store } from '../../src/index.js'

/** An asynchronous version of a store, with some of its methods replaced. */
export function asyncStore(change: Partial<Store> = {}, inner: Store = memoryStore()): Store {
  return {
    synchronous: false,
    ...(inner.atomic !== undefined && { atomic: inner.atomic }),
    consume: async (batch) => inner.consume(batch),
    peek: async (batch) => inner.peek(batch),
    refund: async (batch) => inner.refund(batch),
    reset: async (keys, shard) => inner.reset(keys, shard),
    ...change,
  }
}
