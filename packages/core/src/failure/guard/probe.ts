import { limitSetOf } from '../../plans/limit/limit-set-of.js'
import type { StoreRequest } from '../../stores/contract.js'

const SET = limitSetOf({ quota: 1_000_000, window: '1s', algorithm: 'fixed-window' })

/** A request for one unit of a key that cannot be a subject's. The key expires after a second. */
export function probeOf(shard: number): StoreRequest {
  return { shard, grant: 'all', parts: [{ key: '!probe', set: SET, cost: 1 }] }
}
