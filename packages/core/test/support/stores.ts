// A store that answers with promises, as a store behind a network does.
import { memoryStore, type Store } from '../../src/index.js'

/** Wraps a store so that it answers with promises. Methods and properties in `change` replace its own. */
export function asyncStore(change: Partial<Store> = {}, inner: Store = memoryStore()): Store {
  return {
    synchronous: false,
    ...(inner.atomic !== undefined && { atomic: inner.atomic }),
    ...(inner.leases !== undefined && { leases: inner.leases }),
    ...(inner.slots !== undefined && { slots: inner.slots }),
    ...(inner.holds !== undefined && { holds: inner.holds }),
    ...(inner.blocks !== undefined && { blocks: inner.blocks }),
    ...(inner.observers !== undefined && { observers: inner.observers }),
    ...(inner.overage !== undefined && { overage: inner.overage }),
    ...(inner.accounts !== undefined && { accounts: inner.accounts }),
    ...(inner.billingDays !== undefined && { billingDays: inner.billingDays }),
    consume: async (batch) => inner.consume(batch),
    peek: async (batch) => inner.peek(batch),
    refund: async (batch) => inner.refund(batch),
    reset: async (keys, shard) => inner.reset(keys, shard),
    ...change,
  }
}
