import type { Part } from '../../requests/request.js'
import type { LeasedUnits } from '../../requests/verdict.js'
import type { RefundRequest } from '../../stores/contract.js'
import { refundOf } from '../../stores/receipts.js'
import type { HeldLease } from './held-lease.js'

/** Units of one lease that served one part of a request. */
export class LeaseUse implements LeasedUnits {
  readonly part: Part
  readonly lease: HeldLease
  /** Its number among the uses of the lease. */
  readonly #use: number
  readonly #lagUs: number

  /** @param lagUs as in LeaseWish */
  constructor(part: Part, lease: HeldLease, lagUs: number) {
    this.part = part
    this.lease = lease
    this.#lagUs = lagUs
    this.#use = lease.lastUse
  }

  giveBack(units: number, nowMs: number): true | RefundRequest | undefined {
    const { lease, part } = this
    if (lease.putBack(this.#use, units, nowMs)) return true
    const confirmed = lease.confirmation(this.#use)
    if (!confirmed) return undefined
    // All units of a report were counted together. Of a bucket, these may be the first of them to drain.
    const { at, limits } = confirmed.outcome
    const enteredAt = this.#lagUs > 0 ? Math.min(at, lease.endsAtUs - this.#lagUs) : at
    const behind = Math.max(confirmed.units - units, 0)
    const told = limits.map((limit) => ({ ...limit, remaining: limit.remaining + behind }))
    return refundOf({ shard: part.shard, parts: [part] }, { at: enteredAt, limits: told }, units)
  }
}
