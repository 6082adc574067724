// Stores of several shards, and of what is sent to them.
import { memoryStore, type Store } from '../../src/index.js'
import { shardOf } from '../../src/requests/key.js'
import type { StoreRequest } from '../../src/stores/contract.js'
import { asyncStore } from './stores.js'

export const SHARDS = 16

/** A cluster in memory: atomic in a shard, and not beyond it. */
export function clusterStore(change: Partial<Store> = {}, inner?: Store): Store {
  return asyncStore({ shards: SHARDS, atomic: true, ...change }, inner ?? memoryStore())
}

/** Ids of so many different shards. */
export function idsApart(count: number, from = 'id'): [string, ...string[]] {
  const found = new Map<number, string>()
  for (let i = 0; found.size < count; i += 1) {
    const id = `${from}${i}`
    const shard = shardOf(id, SHARDS)
    if (!found.has(shard)) found.set(shard, id)
  }
  return [...found.values()] as [string, ...string[]]
}

/** Every key that a store was asked for units of, in the order it was, with how. */
export function recorded(store: Store): { store: Store; asked: string[] } {
  const asked: string[] = []
  const consume: Store['consume'] = (batch, call) => {
    asked.push(...batch.map(textOf))
    return store.consume(batch, call)
  }
  return { store: { ...store, consume }, asked }
}

function textOf({ grant, parts }: StoreRequest): string {
  return `${grant} ${parts.map(({ key, cost }) => `${key}:${cost}`).join('+')}`
}
