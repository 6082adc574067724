// Stores that answer as one over a network does, and what can go wrong there.
import { memoryStore, type Store } from '../../src/index.js'

/** A store that answers with promises what another one says, with some of it changed. */
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
