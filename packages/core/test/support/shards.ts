// Stores with several shards, and a store that records its requests.
import { memoryStore, type Store } from '../../src/index.js'
import { shardOf } from '../../src/requests/key.js'
import type { StoreRequest } from '../../src/stores/contract.js'
import { asyncStore } from './stores.js'

export const SHARDS = 16

/** A cluster in memory: atomic within a shard, not across shards. */
export function clusterStore(change: Partial<Store> = {}, inner?: Store): Store {
  return asyncStore({ shards: SHARDS, atomic: true, ...change }, inner ?? memoryStore())
}

/** The same requests, for a store that has one shard. */
export function inFirst<Request extends { readonly shard: number }>(batch: readonly Request[]): Request[] {
  return batch.map((request) => ({ ...request, shard: 0 }))
}

/** Makes `count` ids that all lie in different shards. */
export function idsApart(count: number, from = 'id'): [string, ...string[]] {
  const found = new Map<number, string>()
  for (let i = 0; found.size < count; i += 1) {
    const id = `${from}${i}`
    const shard = shardOf(id, SHARDS)
    if (!found.has(shard)) found.set(shard, id)
  }
  return [...found.values()] as [string, ...string[]]
}

/** Wraps a store so that `asked` records each request to it in order, such as `all KEY:COST+KEY:COST`. */
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
