import { limitSetOf } from '../plans/limit-set-of.js'
import type { StoreRequest } from '../stores/contract.js'

const SET = limitSetOf({ quota: 1_000_000, window: '1s', algorithm: 'fixed-window' })

/** A request for a unit that no subject needs: no subject's key is like it, and it is gone a second later. */
export function probeOf(shard: number): StoreRequest {
  return { shard, grant: 'all', parts: [{ key: '!probe', set: SET, cost: 1 }] }
}
